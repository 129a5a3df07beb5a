/**
 * The process of a `QueryLoad`: sends queries at a steady rate over HTTP/2, whether or not they are answered.
 */
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { readSpec, takeOrders } from "./forked-program.ts";
import type { LoadAnswers, LoadSpec } from "./query-load.ts";

const CONNECTIONS = 4;
/** Milliseconds between two looks at the clock. */
const TICK = 2;
/** Milliseconds after which a query counts as failed. */
const TIMEOUT = 60_000;

const { url, ca, perSecond, queries } = await readSpec<LoadSpec>();
const { origin, pathname } = new URL(url);
const sessions = await Promise.all(Array.from({ length: CONNECTIONS }, open));
let answers: LoadAnswers = { milliseconds: [], longestGap: 0, failed: 0 };
let answeredAt = 0;
let inFlight: Promise<void>[] = [];
let isCounting = false;
let sent = 0;
const begun = performance.now();

setInterval(() => {
  for (const due = ((performance.now() - begun) / 1000) * perSecond; sent < due; sent++) {
    const answered = ask(sent);
    if (isCounting) inFlight.push(answered);
  }
}, TICK);
takeOrders({
  begin() {
    isCounting = true;
    answers = { milliseconds: [], longestGap: 0, failed: 0 };
    answeredAt = performance.now();
    inFlight = [];
  },
  async end() {
    isCounting = false;
    await Promise.all(inFlight);
    return answers;
  },
});

async function open(): Promise<ClientHttp2Session> {
  const session = connect(origin, { ca });
  await once(session, "connect");
  return session;
}

function ask(number: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const counted = answers;
  const started = performance.now();
  const stream = sessions[number % CONNECTIONS]!.request({
    ":path": `${pathname}?dns=${queries[number % queries.length]}`,
    accept: "application/dns-message",
  });
  const parts: Buffer[] = [];
  let status = 0;
  stream.setTimeout(TIMEOUT, () => stream.close());
  stream.on("response", (fields) => {
    status = Number(fields[":status"]);
  });
  stream.on("data", (part: Buffer) => parts.push(part));
  stream.on("error", () => {});
  stream.on("close", () => {
    const body = Buffer.concat(parts);
    // A DNS header: the response code is in its fourth byte, the number of answers in the seventh and eighth.
    const isAnswer = status === 200 && body.length > 12 && (body[3]! & 15) === 0 && body.readUInt16BE(6) > 0;
    if (isAnswer) {
      const now = performance.now();
      counted.milliseconds.push(now - started);
      counted.longestGap = Math.max(counted.longestGap, now - answeredAt);
      answeredAt = now;
    } else counted.failed++;
    resolve();
  });
  return promise;
}
