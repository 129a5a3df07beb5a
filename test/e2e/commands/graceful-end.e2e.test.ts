import { type ClientHttp2Stream, connect } from "node:http2";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../clients/listening-gateway.ts";
import { answerOf, queryBytes } from "../servers/dns.ts";

const CONNECTIONS = 10;
/** On each connection, whose queries are sent in two parts: the second one after the signal. */
const HALVES = 100;
const FIRST_PART = 20;
const query = queryBytes({ name: WEB, type: "A" }, 0);
const PATH = `/dns-query?dns=${query.toString("base64url")}`;

let listening: ListeningGateway;
beforeAll(async () => {
  listening = await startListeningGateway();
});
afterAll(() => listening?.gateway.stop());

function open() {
  const { url, ca } = listening.gateway;
  const session = connect(url, { ca });
  /** The last streams that the gateway named. */
  const lastStreams: number[] = [];
  session.on("error", () => {});
  session.on("goaway", (_, lastStream) => lastStreams.push(lastStream!));
  const halves = Array.from({ length: HALVES }, () => {
    const fields = { "content-type": "application/dns-message", "content-length": String(query.length) };
    const stream = session.request({ ":method": "POST", ":path": "/dns-query", ...fields });
    stream.write(query.subarray(0, FIRST_PART));
    return stream;
  });
  return { session, halves, answers: halves.map(addressesOf), lastStreams };
}

/** @throws where there is no whole answer */
function addressesOf(stream: ClientHttp2Stream): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    stream.on("data", (part) => parts.push(part));
    stream.on("error", reject);
    stream.on("end", () => {
      const { answers = [] } = answerOf(Buffer.concat(parts)).message;
      resolve(answers.map((record) => ("data" in record ? String(record.data) : "")).sort());
    });
    stream.on("close", () => reject(new Error(`stream ${stream.id} closed without an answer`)));
  });
}

/** Asks one query after the other until the client knows that the gateway ends. */
async function askOn({ session, answers, lastStreams }: ReturnType<typeof open>): Promise<void> {
  while (lastStreams.length === 0) {
    const answer = addressesOf(session.request({ ":path": PATH }));
    answers.push(answer);
    await answer;
  }
}

test("SIGTERM with 1,000 requests in flight loses none of them, and none that its clients send before they know", async () => {
  const { gateway } = listening;
  const connections = Array.from({ length: CONNECTIONS }, open);
  // What follows on a connection is answered after the gateway has taken what came before.
  await Promise.all(connections.map(({ session }) => addressesOf(session.request({ ":path": PATH }))));
  const asking = connections.map(askOn);
  gateway.process.signal("SIGTERM");
  await Promise.all(asking);
  for (const { halves } of connections) for (const stream of halves) stream.end(query.subarray(FIRST_PART));
  for (const { answers, lastStreams, session } of connections) {
    const seen = await Promise.all(answers);
    expect(seen.length).toBeGreaterThan(HALVES);
    for (const addresses of seen) expect(addresses).toEqual([...WEB_ADDRESSES].sort());
    if (!session.destroyed) await new Promise((resolve) => session.once("close", resolve));
    // Its streams are odd. One more was for the round trip.
    expect(lastStreams).toEqual([2 ** 31 - 1, 2 * (answers.length + 1) - 1]);
  }
  await gateway.process.ended();
  expect(gateway.process.exitCode).toBe(0);
});
