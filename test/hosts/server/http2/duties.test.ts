import { afterEach, describe, expect, test, vi } from "vitest";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { until } from "../../../until.ts";
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  framesIn,
  getHeaders,
  PREFACE,
  reset,
} from "../http2-frames.ts";
import { answersIn, connect, echo, errorIn, get, number, post } from "./connected.ts";

afterEach(() => vi.useRealTimers());

/** `x-a: 1`, which goes into the dynamic table, and the newest entry of the table. */
const INDEXED = Buffer.from([0x40, 0x03, ...Buffer.from("x-a"), 0x01, 0x31]);
/** `GET https://a/`, which leaves the table as it is. */
const LINE = Buffer.from([0x82, 0x87, 0x84, 0x01, 0x01, 0x61]);
const NEWEST = Buffer.from([0xbe]);
const UPPER_CASE = Buffer.from([0x00, 0x01, 0x58, 0x00]);
const block = (flags: number, stream: number, ...parts: Uint8Array[]) =>
  frame(FRAME.headers, END_HEADERS | flags, stream, Buffer.concat(parts));

describe("section 4.3: the fields of a request that is not answered come into the table, too:", () => {
  test.each<[string, Buffer[]]>([
    ["one beyond the limit of streams", [post(1), post(3), block(END_STREAM, 5, getHeaders(), INDEXED)]],
    ["a malformed one", [block(END_STREAM, 5, getHeaders(), UPPER_CASE, INDEXED)]],
    ["trailers", [post(5), block(END_STREAM, 5, INDEXED)]],
    ["trailers of a stream that was reset", [post(5, [["X", "1"]]), block(END_STREAM, 5, INDEXED)]],
    [
      "fields beyond the limits",
      [
        block(
          END_STREAM,
          5,
          getHeaders([
            ["x-long", "a".repeat(120)],
            ["x-more", "a".repeat(120)],
          ]),
          INDEXED,
        ),
      ],
    ],
  ])("%s", async (_, frames) => {
    const seen: (string | null)[] = [];
    const limits = { streams: 2, headerBytes: 200 };
    const { send, failures } = connect((stream) => {
      if (stream.id < 7) return;
      seen.push(stream.field("x-a"));
    }, limits);
    await send(PREFACE, ...frames);
    await send(reset(1), block(END_STREAM, 7, LINE, NEWEST));
    expect([seen, failures]).toEqual([["1"], []]);
  });
});

describe("section 5.1.2: a place is free again after", () => {
  test.each<[string, (stream: Http2Stream) => void, Buffer[]]>([
    ["a response", echo, [get(1)]],
    ["a reset by the client", () => {}, [get(1), reset(1)]],
    [
      "a reset because of the client",
      () => {},
      [post(1, [["content-length", "1"]]), frame(FRAME.data, END_STREAM, 1)],
    ],
    ["a reset by the handler", (stream) => stream.reset(8), [get(1)]],
    ["a malformed request", () => {}, [get(1, [["X", "1"]])]],
    ["a refused request", (stream) => stream.reset(7), [get(1), get(3)]],
    [
      "an early response with the rest of the body",
      (stream) => stream.respond({ status: 413, headers: {}, body: null }),
      [post(1), frame(FRAME.data, END_STREAM, 1)],
    ],
  ])("%s", async (_, answer, frames) => {
    const answered: number[] = [];
    const seen = connect(
      (stream) => {
        if (stream.id === 9) answered.push(stream.id);
        else answer(stream);
      },
      { streams: 1 },
    );
    await seen.send(PREFACE, ...frames);
    expect(seen.connection.openStreams).toBe(0);
    await seen.send(get(9));
    expect(answered).toEqual([9]);
  });
});

test("section 8.1: after an early response 64 MiB of the body are read, and then the stream is reset without an error", async () => {
  const seen = connect((stream) =>
    stream.respond({ status: 413, headers: {}, body: Buffer.from("too large") }),
  );
  await seen.send(PREFACE, post(1));
  const part = Buffer.concat(Array.from({ length: 16 }, () => frame(FRAME.data, 0, 1, Buffer.alloc(16_384))));
  for (let mebibytes = 0; mebibytes < 64; mebibytes += 0.25) await seen.send(part);
  expect(errorIn(seen.received(), 1)).toBeUndefined();
  await seen.send(part, get(3));
  expect(errorIn(seen.received(), 1)).toBe(0);
  expect(errorIn(seen.received(), 0)).toBeUndefined();
  expect(answersIn(seen.received()).some(({ stream }) => stream === 3)).toBe(true);
});

test("section 6.8: a client that does not answer the PING is told the last stream all the same", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const seen = connect(() => {});
  await seen.send(PREFACE, get(1));
  seen.connection.goAway();
  await seen.send(get(3));
  const lastStreams = () =>
    [...framesIn(seen.received())]
      .filter(({ type }) => type === FRAME.goaway)
      .map(({ payload }) => payload.readUInt32BE(0));
  expect(lastStreams()).toEqual([2 ** 31 - 1]);
  vi.runAllTimers();
  await seen.send(get(5));
  expect(lastStreams()).toEqual([2 ** 31 - 1, 3]);
  expect(seen.connection.openStreams).toBe(2);
});

test("section 6.7: a PING is answered with its bytes, and its answer is not", async () => {
  const seen = connect(() => {});
  await seen.send(
    PREFACE,
    frame(FRAME.ping, 0, 0, Buffer.from("12345678")),
    frame(FRAME.ping, 1, 0, Buffer.alloc(8)),
  );
  const pings = [...framesIn(seen.received())].filter(({ type }) => type === FRAME.ping);
  expect(pings.map(({ flags, payload }) => [flags, payload.toString()])).toEqual([[1, "12345678"]]);
});

test("section 6.7: each answer to a PING is matched by its bytes, in any order, and others match none", async () => {
  const seen = connect(() => {});
  await seen.send(PREFACE, get(1));
  const answered: string[] = [];
  seen.connection.ping(() => answered.push("first"));
  seen.connection.ping(() => answered.push("second"));
  await seen.send();
  const [first, second] = [...framesIn(seen.received())].filter(({ type }) => type === FRAME.ping);
  const answer = (payload: Buffer) => frame(FRAME.ping, 1, 0, payload);
  await seen.send(answer(Buffer.from("12345678")), answer(Buffer.alloc(8)));
  expect(answered).toEqual([]);
  await seen.send(answer(second!.payload), answer(second!.payload), answer(first!.payload));
  expect(answered).toEqual(["second", "first"]);
});

test("section 6.5.3: each SETTINGS is acknowledged, and an acknowledgement is not", async () => {
  const seen = connect(() => {});
  await seen.send(PREFACE, frame(FRAME.settings, 0, 0), frame(FRAME.settings, 1, 0));
  const acknowledged = [...framesIn(seen.received())].filter(
    ({ type, flags }) => type === FRAME.settings && flags === 1,
  );
  expect(acknowledged).toHaveLength(2);
});

test.each([0, 4096, 65_536])(
  "RFC 7541 section 4.2: the first field block says that there is no table, whatever the client allows: %i",
  async (size) => {
    const seen = connect(echo);
    const setting = Buffer.concat([Buffer.from([0, 1]), number(size)]);
    await seen.send(PREFACE, frame(FRAME.settings, 0, 0, setting), get(1), get(3));
    const firsts = answersIn(seen.received())
      .filter(({ type }) => type === FRAME.headers)
      .map(({ payload }) => payload[0]);
    expect(firsts).toEqual([0x20, 0x88]);
  },
);

test("RFC 7541 section 4.4: an entry may take its name from the entry that it evicts", async () => {
  const values: (string | null)[] = [];
  const seen = connect((stream) => values.push(stream.field("x-a")));
  const long = (length: number) => Buffer.from([0x7f, ...integerAfter(127, length)]);
  await seen.send(PREFACE, block(END_STREAM, 1, getHeaders(), INDEXED));
  const size = 4050;
  const evicting = Buffer.concat([Buffer.from([0x7e]), long(size), Buffer.alloc(size, 0x62)]);
  await seen.send(block(END_STREAM, 3, LINE, evicting), block(END_STREAM, 5, LINE, NEWEST));
  expect(values).toEqual(["1", "b".repeat(size), "b".repeat(size)]);
});

/** The bytes after a prefix that is full (RFC 7541 section 5.1). */
function integerAfter(most: number, value: number): number[] {
  const bytes: number[] = [];
  let rest = value - most;
  for (; rest >= 0x80; rest >>= 7) bytes.push(0x80 | (rest & 0x7f));
  return [...bytes, rest];
}

test("section 10.5: nothing more is read of a client that reads nothing, until it does", async () => {
  const handled: number[] = [];
  const seen = connect((stream) => {
    handled.push(stream.id);
    stream.respond({ status: 204, headers: { "x-long": "a".repeat(8000) }, body: null });
  });
  await seen.send(PREFACE);
  seen.client.pause();
  for (let stream = 1; stream < 1001; stream += 2) await seen.send(get(stream));
  expect(handled.length).toBeLessThan(250);
  seen.client.resume();
  await until(() => expect(handled).toHaveLength(500));
});
