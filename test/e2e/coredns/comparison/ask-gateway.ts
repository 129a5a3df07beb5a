import { Client } from "undici";
import { answerOf } from "../../servers/dns.ts";
import type { Question } from "../questions.ts";
import { type Observed, observe } from "./observed.ts";
import { queryFor } from "./query.ts";

const streams = 64;

/** Asks a DoH URL by POST, many questions at a time on one HTTP/2 connection; answers come in order. */
export async function askGateway(
  url: string,
  ca: string,
  questions: readonly Question[],
): Promise<Observed[]> {
  const { origin, pathname } = new URL(url);
  const client = new Client(origin, {
    connect: { ca },
    allowH2: true,
    maxConcurrentStreams: streams,
    pipelining: streams,
  });
  const observed: Observed[] = [];
  const queue = questions.entries();
  const askInTurn = async () => {
    for (const [index, question] of queue) {
      const { statusCode, headers, body } = await client.request({
        method: "POST",
        path: pathname,
        headers: { "content-type": "application/dns-message", accept: "application/dns-message" },
        body: queryFor(question, 0),
      });
      const raw = Buffer.from(await body.arrayBuffer());
      if (statusCode !== 200 || headers["content-type"] !== "application/dns-message") {
        throw new Error(`${question.name} ${question.type}: HTTP ${statusCode} ${raw.toString("utf8")}`);
      }
      observed[index] = observe(answerOf(raw));
    }
  };
  try {
    await Promise.all(Array.from({ length: streams }, askInTurn));
    return observed;
  } finally {
    await client.destroy();
  }
}
