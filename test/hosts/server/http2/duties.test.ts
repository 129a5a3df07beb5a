import { afterEach, expect, test, vi } from "vitest";
import { HpackDecoder, HpackError } from "../../../../src/http2/hpack.ts";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { until } from "../../../until.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, getHeaders, PREFACE, reset } from "../http2-frames.ts";
import { type Connected, connect, data, echo, get, number, post } from "./connected.ts";

afterEach(() => vi.useRealTimers());

/** `x-a: 1`, which goes into the dynamic table, and the newest entry of the table. */
const INDEXED = Buffer.from([0x40, 0x03, ...Buffer.from("x-a"), 0x01, 0x31]);
/** `GET https://a/`, which leaves the table as it is. */
const LINE = Buffer.from([0x82, 0x87, 0x84, 0x01, 0x01, 0x61]);
const NEWEST = Buffer.from([0xbe]);
const refuse = (stream: Http2Stream) => stream.respond({ status: 413, headers: {}, body: null });
const UPPER_CASE = Buffer.from([0x00, 0x01, 0x58, 0x00]);
const block = (flags: number, stream: number, ...parts: Uint8Array[]) =>
  frame(FRAME.headers, END_HEADERS | flags, stream, Buffer.concat(parts));

test.each<[string, Buffer[]]>([
  ["one beyond the limit of streams", [post(1), post(3), block(END_STREAM, 5, getHeaders(), INDEXED)]],
  ["a malformed one", [block(END_STREAM, 5, getHeaders(), UPPER_CASE, INDEXED)]],
  ["trailers", [post(5), block(END_STREAM, 5, INDEXED)]],
  ["trailers of a stream that was reset", [post(5, { X: "1" }), block(END_STREAM, 5, INDEXED)]],
  ["fields beyond the limits", [block(END_STREAM, 5, getHeaders([["x-long", "a".repeat(120)]]), INDEXED)]],
])(
  "section 4.3: the fields of a request that is not answered come into the table, too: %s",
  async (_, frames) => {
    const seen: (string | null)[] = [];
    const limits = { streams: 2, headerBytes: 150 };
    const { send, failures } = connect((stream) => {
      if (stream.id < 7) return;
      seen.push(stream.field("x-a"));
    }, limits);
    await send(PREFACE, ...frames);
    await send(reset(1), block(END_STREAM, 7, LINE, NEWEST));
    expect([seen, failures]).toEqual([["1"], []]);
  },
);

test.each<[string, (stream: Http2Stream) => void, Buffer[]]>([
  ["a response", echo, [get(1)]],
  ["a reset by the client", () => {}, [get(1), reset(1)]],
  ["a reset because of the client", () => {}, [post(1, { "content-length": "1" }), data(1, "", END_STREAM)]],
  ["a reset by the handler", (stream) => stream.reset(8), [get(1)]],
  ["a malformed request", () => {}, [get(1, { X: "1" })]],
  ["a refused request", (stream) => stream.reset(7), [get(1), get(3)]],
  ["an early response with the rest of the body", refuse, [post(1), data(1, "", END_STREAM)]],
])("section 5.1.2: a place is free again after %s", async (_, answer, frames) => {
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

/** The last streams that the GOAWAY frames of a connection name. */
const lastStreams = (seen: Connected) =>
  seen.frames(FRAME.goaway).map(({ payload }) => payload.readUInt32BE());
const ALL_STREAMS = 2 ** 31 - 1;

test("section 6.8: a connection that goes away answers what it took, ignores what comes later, and ends", async () => {
  const waiting: Http2Stream[] = [];
  const seen = connect((stream) => waiting.push(stream));
  let isOver = false;
  seen.client.on("end", () => {
    isOver = true;
  });
  await seen.send(PREFACE, get(1));
  seen.connection.goAway();
  await seen.send(get(3));
  const [ping] = seen.frames(FRAME.ping);
  await seen.send(frame(FRAME.ping, 1, 0, ping!.payload), post(5), data(5, "x", END_STREAM));
  expect(lastStreams(seen)).toEqual([ALL_STREAMS, 3]);
  for (const stream of waiting) echo(stream);
  await seen.send();
  expect(seen.frames(FRAME.data).map(({ stream }) => stream)).toEqual([1, 3]);
  expect(isOver).toBe(true);
});

test("section 6.8: a client that does not answer the PING is told the last stream all the same", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const seen = connect(() => {});
  await seen.send(PREFACE, get(1));
  seen.connection.goAway();
  await seen.send(get(3));
  expect(lastStreams(seen)).toEqual([ALL_STREAMS]);
  vi.runAllTimers();
  await seen.send(get(5));
  expect(lastStreams(seen)).toEqual([ALL_STREAMS, 3]);
  expect(seen.connection.openStreams).toBe(2);
});

test("a client that ends its side gets the answers that it waits for", async () => {
  const waiting: Http2Stream[] = [];
  const seen = connect((stream) => waiting.push(stream));
  await seen.send(PREFACE, get(1));
  seen.client.end();
  await seen.send();
  for (const stream of waiting) echo(stream);
  await seen.send();
  expect(seen.frames(FRAME.data)).toHaveLength(1);
});

test("a client that goes on sending after the end is cut off", async () => {
  const seen = connect(() => {});
  await seen.send(PREFACE, frame(FRAME.data, 0, 0));
  expect(seen.failures).toHaveLength(1);
  await seen.send(Buffer.alloc(200_000));
  expect(seen.isClosed()).toBe(false);
  await seen.send(Buffer.alloc(200_000));
  expect(seen.isClosed()).toBe(true);
});

test("sections 6.5.3 and 6.7: SETTINGS and PING are acknowledged, and acknowledgements are not", async () => {
  const seen = connect(() => {});
  const bytes = Buffer.from("12345678");
  await seen.send(PREFACE, frame(FRAME.settings, 0, 0), frame(FRAME.settings, 1, 0));
  await seen.send(frame(FRAME.ping, 0, 0, bytes), frame(FRAME.ping, 1, 0, Buffer.alloc(8)));
  expect(seen.frames(FRAME.settings).filter(({ flags }) => flags === 1)).toHaveLength(2);
  expect(seen.frames(FRAME.ping)).toMatchObject([{ flags: 1, payload: bytes }]);
});

test("section 6.7: each answer to a PING is matched by its bytes, in any order, and others match none", async () => {
  const seen = connect(() => {});
  await seen.send(PREFACE, get(1));
  const answered: string[] = [];
  seen.connection.ping(() => answered.push("first"));
  seen.connection.ping(() => answered.push("second"));
  await seen.send();
  const [first, second] = seen.frames(FRAME.ping);
  const answer = (payload: Buffer) => frame(FRAME.ping, 1, 0, payload);
  await seen.send(answer(Buffer.from("12345678")), answer(Buffer.alloc(8)));
  expect(answered).toEqual([]);
  await seen.send(answer(second!.payload), answer(second!.payload), answer(first!.payload));
  expect(answered).toEqual(["second", "first"]);
});

test.each([0, 4096, 65_536])(
  "RFC 7541 section 4.2: the first field block says that there is no table, whatever the client allows: %i",
  async (size) => {
    const seen = connect(echo);
    const setting = Buffer.concat([Buffer.from([0, 1]), number(size)]);
    await seen.send(PREFACE, frame(FRAME.settings, 0, 0, setting), get(1), get(3));
    expect(seen.frames(FRAME.headers).map(({ payload }) => payload[0])).toEqual([0x20, 0x88]);
  },
);

test("RFC 7541 section 4.4: an entry may take its name from the entry that it evicts", async () => {
  const values: (string | null)[] = [];
  const seen = connect((stream) => values.push(stream.field("x-a")));
  const size = 4050;
  // Indexed name 62, and a length of 4,050 in three bytes (section 5.1).
  const evicting = Buffer.concat([Buffer.from([0x7e, 0x7f, 0xd3, 0x1e]), Buffer.alloc(size, 0x62)]);
  await seen.send(PREFACE, block(END_STREAM, 1, getHeaders(), INDEXED));
  await seen.send(block(END_STREAM, 3, LINE, evicting), block(END_STREAM, 5, LINE, NEWEST));
  expect(values).toEqual(["1", "b".repeat(size), "b".repeat(size)]);
});

test("RFC 7541 section 4.4: the table keeps the newest entries over thousands of additions, and a larger one empties it", () => {
  const decoder = new HpackDecoder({ headerBytes: 10_000, headerFields: 100 });
  const decode = (...bytes: number[]) => decoder.decode(Buffer.from(bytes), 0, bytes.length).fields;
  for (let index = 0; index < 5000; index++) {
    const digits = [...Buffer.from(String(index))];
    const entry = [0x40, 1, 0x6e, digits.length, ...digits];
    if (index < 50) expect(decode(...entry)).toEqual(["n", String(index)]);
    else expect(decode(...entry, 0x80 | (62 + 50))).toEqual(["n", String(index), "n", String(index - 50)]);
  }
  decode(0x40, 1, 0x6e, 0x7f, 0xd3, 0x1f, ...Array<number>(4178).fill(0x62));
  expect(() => decode(...NEWEST)).toThrow(HpackError);
});

test("section 8.2.1: a field that HTTP/2 does not allow is malformed where it comes from the table, too", async () => {
  const seen = connect(echo);
  const upperCase = Buffer.from([0x40, 1, 0x58, 1, 0x31]);
  await seen.send(PREFACE, block(END_STREAM, 1, LINE, upperCase), block(END_STREAM, 3, LINE, NEWEST), get(5));
  expect([seen.errorOf(1), seen.errorOf(3), seen.errorOf(5)]).toEqual([1, 1, undefined]);
});

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
