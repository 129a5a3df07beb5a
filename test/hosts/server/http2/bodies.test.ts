import { describe, expect, test } from "vitest";
import { BodyCutOff, GatheredBytes } from "../../../../src/http2/body.ts";
import { HpackDecoder } from "../../../../src/http2/hpack.ts";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, PREFACE, reset } from "../http2-frames.ts";
import {
  answersIn,
  type Connected,
  connect,
  data,
  echo,
  get,
  number,
  post,
  WINDOW_UPDATE,
} from "./connected.ts";

const window = (stream: number, by: number) => frame(WINDOW_UPDATE, 0, stream, number(by));
const initialWindow = (bytes: number) =>
  frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), number(bytes)]));
const respond = (bytes: number) => (stream: Http2Stream) =>
  stream.respond({ status: 200, headers: {}, body: Buffer.alloc(bytes, 97) });
const refuse = (stream: Http2Stream) => stream.respond({ status: 413, headers: {}, body: null });
const whole = (stream: number, body: string | Uint8Array) =>
  Buffer.concat([post(stream), data(stream, body, END_STREAM)]);

const dataOf = (seen: Connected, stream: number) =>
  seen.frames(FRAME.data).filter((one) => one.stream === stream);
const bytesOf = (seen: Connected, stream: number) =>
  dataOf(seen, stream).reduce((sum, { payload }) => sum + payload.length, 0);
const isEnded = (seen: Connected, stream: number) =>
  dataOf(seen, stream).some(({ flags }) => (flags & END_STREAM) !== 0);
const typesOf = (seen: Connected) =>
  answersIn(seen.received()).map(({ type, flags }) => [type, flags & END_STREAM]);

describe("a response", () => {
  test("waits for the window of its stream, and others do not wait for it (section 6.9.1)", async () => {
    const seen = connect(respond(10));
    await seen.send(PREFACE, initialWindow(4), get(1), get(3));
    expect([bytesOf(seen, 1), bytesOf(seen, 3)]).toEqual([4, 4]);
    await seen.send(window(3, 6));
    expect([isEnded(seen, 1), isEnded(seen, 3)]).toEqual([false, true]);
    await seen.send(window(1, 100));
    expect([bytesOf(seen, 1), isEnded(seen, 1)]).toEqual([10, true]);
  });

  test("waits for the window of the connection, and none is forgotten (section 6.9.1)", async () => {
    const seen = connect(respond(40_000));
    await seen.send(PREFACE, get(1), get(3), get(5));
    const sent = () => [1, 3, 5].map((stream) => bytesOf(seen, stream));
    expect(sent()).toEqual([40_000, 25_535, 0]);
    // Section 6.5.2: no DATA frame is longer than the client takes.
    expect(Math.max(...dataOf(seen, 1).map(({ payload }) => payload.length))).toBe(16_384);
    await seen.send(window(0, 100_000));
    expect(sent()).toEqual([40_000, 40_000, 40_000]);
    expect([1, 3, 5].every((stream) => isEnded(seen, stream))).toBe(true);
  });

  test("is delayed by a smaller INITIAL_WINDOW_SIZE, which makes windows negative, and loses nothing (section 6.9.2)", async () => {
    const seen = connect(respond(100));
    await seen.send(PREFACE, initialWindow(60), get(1), initialWindow(10), window(1, 49));
    expect(bytesOf(seen, 1)).toBe(60);
    await seen.send(window(1, 2));
    expect(bytesOf(seen, 1)).toBe(61);
    await seen.send(initialWindow(1000));
    expect([bytesOf(seen, 1), isEnded(seen, 1)]).toEqual([100, true]);
  });

  test("without a body needs no window (section 6.9)", async () => {
    const seen = connect((stream) => stream.respond({ status: 204, headers: {}, body: null }));
    await seen.send(PREFACE, initialWindow(0), get(1));
    expect(seen.frames(FRAME.headers)[0]?.flags).toBe(END_HEADERS | END_STREAM);
  });

  test("that comes as a stream is sent no faster than the client reads, and cancelled when the client resets it", async () => {
    let pulled = 0;
    let isCancelled = false;
    const source = {
      pull(controller: ReadableStreamDefaultController<Uint8Array>) {
        pulled++;
        controller.enqueue(new Uint8Array(1000));
      },
      cancel() {
        isCancelled = true;
      },
    };
    const parts = () => new ReadableStream(source, { highWaterMark: 0 });
    const seen = connect((one) => one.respond({ status: 200, headers: {}, body: null, stream: parts() }));
    await seen.send(PREFACE, initialWindow(2500), get(1));
    expect([bytesOf(seen, 1), pulled]).toEqual([2500, 3]);
    await seen.send(window(1, 1000));
    expect([bytesOf(seen, 1), pulled]).toEqual([3500, 4]);
    await seen.send(reset(1));
    expect(isCancelled).toBe(true);
  });

  test("that waits for the client is stalled if every other one does, and not once the client reads", async () => {
    const seen = connect(respond(100));
    await seen.send(PREFACE, initialWindow(10), get(1), get(3));
    const stalled = (now: number) => seen.connection.stalledFor(now);
    expect([stalled(1000), stalled(4000)]).toEqual([0, 3000]);
    await seen.send(window(3, 1));
    expect([stalled(5000), stalled(6000)]).toEqual([0, 1000]);
    await seen.send(window(1, 90), window(3, 89));
    expect([stalled(7000), stalled(9000)]).toEqual([0, 0]);
  });

  test("is sent when the body is wanted, once, as 100-continue before the final one (RFC 9110 section 10.1.1)", async () => {
    const seen = connect(echo);
    await seen.send(PREFACE, post(1, { expect: "100-continue" }));
    expect(typesOf(seen)).toEqual([[FRAME.headers, 0]]);
    await seen.send(data(1, "abc", END_STREAM));
    expect(typesOf(seen).slice(1)).toEqual([
      [FRAME.headers, 0],
      [FRAME.data, END_STREAM],
    ]);
  });

  test.each([
    ["a line end in a value", { "x-a": "1\r\nx-b: 2" }],
    ["a character above U+00FF", { "x-a": "€" }],
    ["a field of HTTP/1.1", { connection: "close" }],
    ["a space in a name", { "x a": "1" }],
  ])("with %s throws, and another one can be sent", async (_, headers) => {
    const seen = connect((stream) => {
      expect(() => stream.respond({ status: 200, headers, body: null })).toThrow(TypeError);
      stream.respond({ status: 500, headers: {}, body: null });
    });
    await seen.send(PREFACE, get(1));
    expect(typesOf(seen)).toEqual([[FRAME.headers, END_STREAM]]);
  });

  test("with fields beyond a frame goes on in CONTINUATION frames, with nothing in between (section 6.10)", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `x-${index}`);
    const sent = Object.fromEntries(names.map((name) => [name, "é".repeat(3000)]));
    const seen = connect((stream) => stream.respond({ status: 200, headers: sent, body: null }));
    await seen.send(PREFACE, get(1));
    const frames = answersIn(seen.received());
    expect(frames.map(({ type }) => type)).toEqual([FRAME.headers, ...Array(5).fill(FRAME.continuation)]);
    expect(frames.map(({ flags }) => flags)).toEqual([END_STREAM, 0, 0, 0, 0, END_HEADERS]);
    const block = Buffer.concat(frames.map(({ payload }) => payload));
    const decoder = new HpackDecoder({ headerBytes: 100_000, headerFields: 100 });
    const { fields } = decoder.decode(block, 0, block.length);
    expect(fields).toEqual(expect.arrayContaining(Object.entries(sent).flat()));
    expect(fields).toHaveLength(64);
  });
});

describe("DATA", () => {
  test("that is read, refused, padded or late takes no window for long (section 5.2)", async () => {
    const seen = connect((stream) => {
      if (stream.id === 1) void stream.body.collect(2 ** 20);
      else refuse(stream);
    });
    const padded = (stream: number) =>
      data(stream, Buffer.concat([Buffer.from([255]), Buffer.alloc(16_000)]), 8);
    await seen.send(PREFACE, post(1), post(3), post(5), reset(5));
    for (let round = 0; round < 100; round++) await seen.send(padded(1), padded(3));
    expect([seen.errorOf(0), seen.errorOf(1)]).toEqual([undefined, undefined]);
    const given = seen.frames(WINDOW_UPDATE).filter(({ stream }) => stream === 0);
    const bytes = given.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    expect(bytes).toBeGreaterThan(200 * 16_001 - 2 ** 19);
  });

  test("beyond the window of a stream resets it, and beyond that of the connection ends it (section 6.9.1)", async () => {
    const part = (stream: number) => data(stream, Buffer.alloc(16_384));
    const seen = connect(() => {});
    await seen.send(PREFACE, post(1), ...Array.from({ length: 17 }, () => part(1)));
    expect([seen.errorOf(1), seen.errorOf(0)]).toEqual([3, undefined]);
    const other = connect(() => {});
    const all = [1, 3, 5, 7, 9].flatMap((id) => [post(id), ...Array.from({ length: 16 }, () => part(id))]);
    await other.send(PREFACE, ...all);
    expect(other.errorOf(0)).toBe(3);
  });

  test("of an early response is read up to 64 MiB, and then the stream is reset without an error (section 8.1)", async () => {
    const seen = connect((stream) =>
      stream.respond({ status: 413, headers: {}, body: Buffer.from("too large") }),
    );
    await seen.send(PREFACE, post(1));
    expect(typesOf(seen)).toEqual([
      [FRAME.headers, 0],
      [FRAME.data, END_STREAM],
    ]);
    const part = Buffer.concat(Array.from({ length: 16 }, () => data(1, Buffer.alloc(16_384))));
    for (let mebibytes = 0; mebibytes < 64; mebibytes += 0.25) await seen.send(part);
    expect(seen.errorOf(1)).toBeUndefined();
    await seen.send(part, get(3));
    expect([seen.errorOf(1), seen.errorOf(0)]).toEqual([0, undefined]);
    expect(isEnded(seen, 3)).toBe(true);
  });

  test("is ended by trailers", async () => {
    const seen = connect(echo);
    const trailers = frame(FRAME.headers, END_HEADERS | END_STREAM, 1, Buffer.from([0, 1, 0x61, 1, 0x62]));
    await seen.send(PREFACE, post(1), data(1, "abc"), trailers);
    expect(dataOf(seen, 1)[0]?.payload.toString()).toBe("GET / 3");
  });

  test("that is cut off by a reset fails where it is read", async () => {
    const failed: unknown[] = [];
    const seen = connect((stream) => {
      void Promise.resolve(stream.body.collect(100)).catch((error) => failed.push(error));
    });
    await seen.send(PREFACE, post(1), data(1, "x"), reset(1));
    expect(failed).toEqual([expect.any(BodyCutOff)]);
  });

  test("that is read as it comes grows the window of its stream", async () => {
    const streams: Http2Stream[] = [];
    const seen = connect((stream) => streams.push(stream));
    await seen.send(PREFACE, post(1), ...Array.from({ length: 16 }, () => data(1, Buffer.alloc(16_384))));
    const updates = () => seen.frames(WINDOW_UPDATE).filter(({ stream }) => stream === 1).length;
    expect(updates()).toBe(0);
    const body = streams[0]!.body.stream().getReader();
    for (let part = 0; part < 8; part++) expect((await body.read()).value?.length).toBe(16_384);
    await seen.send();
    expect(updates()).toBe(1);
  });

  test("in frames of one byte each is kept together, in at most twice its size", async () => {
    const streams: Http2Stream[] = [];
    const seen = connect((stream) => streams.push(stream));
    const bytes = Array.from({ length: 1000 }, (_, byte) => byte % 256);
    await seen.send(PREFACE, post(1), ...bytes.map((byte) => data(1, Uint8Array.of(byte))));
    const { value } = await streams[0]!.body.stream().getReader().read();
    expect([...value!]).toEqual(bytes);
    expect(value!.buffer.byteLength).toBeLessThanOrEqual(2000);
  });

  test("of nothing has memory of its own, which may be transferred to another thread", () => {
    const bytes = new GatheredBytes();
    structuredClone(0, { transfer: [bytes.take().buffer] });
    bytes.add(Uint8Array.of(1));
    expect([...bytes.take(), ...bytes.take()]).toEqual([1]);
  });
});

describe("bodies that came whole with their requests", () => {
  test("have the bytes that came, also for a handler that reads them after the turn", async () => {
    const streams: Http2Stream[] = [];
    const seen = connect((stream) => streams.push(stream));
    const bytes = Buffer.concat([PREFACE, whole(1, "a whole body")]);
    await seen.send(bytes);
    bytes.fill(0);
    expect(await streams[0]!.collect(100)).toEqual(new TextEncoder().encode("a whole body"));
  });

  test("frame by frame, all headers first, belong to their own requests, and longer ones are not collected", async () => {
    const bodies = new Map<number, unknown>();
    const seen = connect((stream) => {
      bodies.set(stream.id, (stream.collect(100) as Uint8Array | undefined)?.length);
    });
    const ids = Array.from({ length: 60 }, (_, index) => 2 * index + 1);
    const bytes = ids.map((id) => data(id, Buffer.alloc(id), END_STREAM));
    await seen.send(Buffer.concat([PREFACE, ...ids.map((id) => post(id)), ...bytes]));
    expect([...bodies]).toEqual(ids.map((id) => [id, id > 100 ? undefined : id]));
  });

  test("of requests of the same read are dropped when a handler ends the connection", async () => {
    const closed: number[] = [];
    const seen = connect((stream) => {
      stream.whenClosed = ({ id }) => closed.push(id);
      seen.connection.end(0);
    });
    await seen.send(Buffer.concat([PREFACE, whole(1, "one"), whole(3, "three")]));
    expect([closed, seen.connection.openStreams]).toEqual([[1], 0]);
  });

  test.each([
    ["reads", (stream: Http2Stream) => void stream.collect(20_000)],
    ["ignores", () => {}],
    ["reads too late", (stream: Http2Stream) => void setImmediate(() => stream.collect(20_000))],
  ])("that a handler %s give their bytes back to the connection's window", async (_, handle) => {
    const seen = connect((stream) => {
      handle(stream);
      stream.respond({ status: 204, headers: {}, body: null });
    });
    await seen.send(PREFACE);
    for (let stream = 1; stream < 400; stream += 2) await seen.send(whole(stream, Buffer.alloc(16_000)));
    expect(seen.failures).toEqual([]);
    expect(answersIn(seen.received()).at(-1)?.stream).toBe(399);
  });
});
