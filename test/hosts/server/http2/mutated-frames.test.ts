import { afterAll, expect, test } from "vitest";
import { HpackError } from "../../../../src/http2/hpack.ts";
import { ConnectionError } from "../../../../src/http2/protocol.ts";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { TEST_DEADLINE } from "../../../deadline.ts";
import { cutAtRandom, Random } from "../../../e2e/abuse/harness/random.ts";
import { mutatedSequence, STREAMS_OF_SEQUENCE } from "../../../e2e/abuse/http2/frame-mutations.ts";
import { http2Requests } from "../../../e2e/abuse/http2/http2-requests.ts";
import { FRAME, PREFACE } from "../http2-frames.ts";
import { answersIn, connect, echo, get } from "./connected.ts";

/** Another seed gives other sequences: ABUSE_SEED=$RANDOM; ABUSE_SEQUENCES=1000000 takes minutes. */
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_122);
const SEQUENCES = Number(process.env.ABUSE_SEQUENCES ?? 10_000);
const MOST_IN_ONE_WRITE = 24;
const WRITES = 40;
const MOST_PIECES = 4;

/** Errors of the server itself: a client can cause the others. */
const wrong: unknown[] = [];
const fail = (error: unknown) => void wrong.push(error);
process.on("unhandledRejection", fail);
afterAll(() => process.off("unhandledRejection", fail));

/** Answers, now or later, with streams and without, and resets some. */
function answer(random: Random): (stream: Http2Stream) => void {
  return (stream) => {
    switch (random.below(5)) {
      case 0:
        stream.respond({ status: 413, headers: {}, body: new Uint8Array(random.below(40_000)) });
        return;
      case 1:
        void new Response(stream.body.stream()).bytes().then(
          () => stream.respond({ status: 204, headers: {}, body: null }),
          () => stream.reset(2),
        );
        return;
      case 2: {
        const parts = ReadableStream.from([new Uint8Array(random.below(100_000)), new Uint8Array(9)]);
        stream.respond({ status: 200, headers: {}, body: null, stream: parts });
        return;
      }
      default:
        echo(stream);
    }
  };
}

test(`${SEQUENCES} mutated sequences of frames with the seed ${SEED}: no error of the server, right answers for others`, {
  timeout: TEST_DEADLINE + SEQUENCES * 5,
}, async () => {
  const requests = http2Requests("t".repeat(43));
  let seed = SEED;
  for (let left = SEQUENCES; left > 0; seed++) {
    const random = new Random(seed);
    const [seen, bystander] = [connect(answer(random)), connect(echo)];
    await Promise.all([seen.send(PREFACE), bystander.send(PREFACE, get(1))]);
    let stream = 1;
    let goaway: Buffer | undefined;
    for (let write = 0; write < WRITES && goaway === undefined && !seen.isClosed(); write++) {
      const parts: Buffer[] = [];
      for (let more = 1 + random.below(MOST_IN_ONE_WRITE); more > 0; more--) {
        parts.push(mutatedSequence(random, requests, stream));
        stream += STREAMS_OF_SEQUENCE;
      }
      await seen.send(...cutAtRandom(random, Buffer.concat(parts), MOST_PIECES));
      goaway = seen.frames(FRAME.goaway)[0]?.payload;
    }
    // A GOAWAY has the last stream that was read: what follows it does not count.
    left -= Math.floor(Math.min(stream, goaway?.readUInt32BE() ?? stream) / STREAMS_OF_SEQUENCE);
    const ofClients = (error: Error) => error instanceof ConnectionError || error instanceof HpackError;
    wrong.push(...seen.failures.filter((error) => !ofClients(error)));
    if (random.once(3)) seen.reset();
    else seen.client.end();
    await bystander.send(get(3));
    expect(answersIn(bystander.received())).toMatchObject(
      [1, 3].flatMap((id) => [
        { type: FRAME.headers, stream: id },
        { type: FRAME.data, stream: id, payload: Buffer.from("GET / 0") },
      ]),
    );
  }
  expect(wrong).toEqual([]);
});
