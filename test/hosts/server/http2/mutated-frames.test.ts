import { Duplex } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { Http2Connection } from "../../../../src/http2/connection.ts";
import { HpackError } from "../../../../src/http2/hpack.ts";
import { ConnectionError } from "../../../../src/http2/protocol.ts";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { TEST_DEADLINE } from "../../../deadline.ts";
import { cutAtRandom, Random } from "../../../e2e/abuse/harness/random.ts";
import { mutatedSequence, STREAMS_OF_SEQUENCE } from "../../../e2e/abuse/http2/frame-mutations.ts";
import { http2Requests } from "../../../e2e/abuse/http2/http2-requests.ts";
import { FRAME, frame, framesIn, PREFACE } from "../http2-frames.ts";
import { echo, get, LIMITS, number, WINDOW_UPDATE } from "./connected.ts";

/**
 * Another seed gives other sequences: ABUSE_SEED=$RANDOM; a million of them take minutes:
 * ABUSE_SEQUENCES=1000000.
 */
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_122);
const SEQUENCES = Number(process.env.ABUSE_SEQUENCES ?? 10_000);
const MOST_IN_ONE_WRITE = 24;
const WRITES = 40;
const MOST_PIECES = 4;
/** Connections after which events of other turns have their time. */
const CONNECTIONS_IN_A_TURN = 20;
const ANSWER = "GET / 0";

/** A connection without a network: what is received is handled before the call returns. */
class OneSide extends Duplex {
  sent: Buffer[] = [];

  override _read(): void {}

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.sent.push(bytes);
    done();
  }

  receive(bytes: Buffer): void {
    this.emit("data", bytes);
  }
}

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

function connectTo(request: (stream: Http2Stream) => void): OneSide {
  const socket = new OneSide();
  const failed = (error: Error) => {
    if (!(error instanceof ConnectionError || error instanceof HpackError)) fail(error);
  };
  new Http2Connection(socket, LIMITS, { request, reset() {}, flooded() {}, failed });
  socket.receive(PREFACE);
  return socket;
}

/** For what one answer takes. */
const MORE_WINDOW = frame(WINDOW_UPDATE, 0, 0, number(ANSWER.length));

/** A connection that is asked between the others, whose answers have to be right. */
class Bystander {
  readonly #socket = connectTo(echo);
  #stream = 1;

  ask(): void {
    this.#socket.sent = [];
    this.#socket.receive(Buffer.concat([MORE_WINDOW, get(this.#stream)]));
    const frames = [...framesIn(Buffer.concat(this.#socket.sent))];
    const seen = frames.map(({ type, stream, payload }) => [
      type,
      stream,
      type === FRAME.data ? String(payload) : "",
    ]);
    expect(seen).toEqual([
      [FRAME.headers, this.#stream, ""],
      [FRAME.data, this.#stream, ANSWER],
    ]);
    this.#stream += 2;
  }
}

/** A GOAWAY has the last stream that was read: what follows it does not count. */
function sequencesRead(nextStream: number, { sent }: OneSide): number {
  const goaway = [...framesIn(Buffer.concat(sent))].find(({ type }) => type === FRAME.goaway);
  const last = goaway === undefined ? nextStream : Math.min(nextStream, goaway.payload.readUInt32BE());
  return Math.floor(last / STREAMS_OF_SEQUENCE);
}

test(`${SEQUENCES} mutated sequences of frames with the seed ${SEED}: no error of the server, right answers for others`, {
  timeout: TEST_DEADLINE + SEQUENCES * 5,
}, async () => {
  const requests = http2Requests("t".repeat(43)).filter(({ isViolation }) => !isViolation);
  const bystander = new Bystander();
  bystander.ask();
  let seed = SEED;
  for (let left = SEQUENCES; left > 0; seed++) {
    const random = new Random(seed);
    const socket = connectTo(answer(random));
    let stream = 1;
    for (let write = 0; write < WRITES && socket.writable; write++) {
      socket.sent = [];
      const parts: Buffer[] = [];
      for (let more = 1 + random.below(MOST_IN_ONE_WRITE); more > 0; more--) {
        parts.push(mutatedSequence(random, requests, stream));
        stream += STREAMS_OF_SEQUENCE;
      }
      for (const piece of cutAtRandom(random, Buffer.concat(parts), MOST_PIECES)) socket.receive(piece);
    }
    left -= sequencesRead(stream, socket);
    if (random.once(3)) socket.destroy();
    else socket.push(null);
    bystander.ask();
    if (seed % CONNECTIONS_IN_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(wrong).toEqual([]);
});
