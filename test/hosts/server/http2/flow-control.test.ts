import { expect, test } from "vitest";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, framesIn, PREFACE } from "../http2-frames.ts";
import { connect, errorIn, get, number, post, WINDOW_UPDATE } from "./connected.ts";

const window = (stream: number, by: number) => frame(WINDOW_UPDATE, 0, stream, number(by));
const initialWindow = (bytes: number) =>
  frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), number(bytes)]));

const respond = (bytes: number) => (stream: Http2Stream) =>
  stream.respond({ status: 200, headers: {}, body: Buffer.alloc(bytes, 97) });

function dataOf(bytes: Buffer, stream: number) {
  return [...framesIn(bytes)].filter((one) => one.type === FRAME.data && one.stream === stream);
}
const bytesOf = (bytes: Buffer, stream: number) =>
  dataOf(bytes, stream).reduce((sum, { payload }) => sum + payload.length, 0);
const isEnded = (bytes: Buffer, stream: number) =>
  dataOf(bytes, stream).some(({ flags }) => (flags & END_STREAM) !== 0);

test("section 6.9.1: a response waits for the window of its stream, and others do not wait for it", async () => {
  const seen = connect(respond(10));
  await seen.send(PREFACE, initialWindow(4), get(1), get(3));
  expect([bytesOf(seen.received(), 1), bytesOf(seen.received(), 3)]).toEqual([4, 4]);
  await seen.send(window(3, 6));
  expect([isEnded(seen.received(), 1), isEnded(seen.received(), 3)]).toEqual([false, true]);
  await seen.send(window(1, 100));
  expect([bytesOf(seen.received(), 1), isEnded(seen.received(), 1)]).toEqual([10, true]);
});

test("section 6.9.1: responses wait for the window of the connection, and none is forgotten", async () => {
  const seen = connect(respond(40_000));
  await seen.send(PREFACE, get(1), get(3), get(5));
  const sent = () => [1, 3, 5].map((stream) => bytesOf(seen.received(), stream));
  expect(sent()).toEqual([40_000, 25_535, 0]);
  await seen.send(window(0, 100_000));
  expect(sent()).toEqual([40_000, 40_000, 40_000]);
  expect([1, 3, 5].every((stream) => isEnded(seen.received(), stream))).toBe(true);
});

test("section 6.9.2: a smaller INITIAL_WINDOW_SIZE makes windows negative, which delays but loses nothing", async () => {
  const seen = connect(respond(100));
  await seen.send(PREFACE, initialWindow(60), get(1), initialWindow(10), window(1, 49));
  expect(bytesOf(seen.received(), 1)).toBe(60);
  await seen.send(window(1, 2));
  expect(bytesOf(seen.received(), 1)).toBe(61);
  await seen.send(initialWindow(1000));
  expect([bytesOf(seen.received(), 1), isEnded(seen.received(), 1)]).toEqual([100, true]);
});

test("section 6.9: fields go out without a window, and a body that is empty, too", async () => {
  const seen = connect((stream) => stream.respond({ status: 204, headers: {}, body: null }));
  await seen.send(PREFACE, initialWindow(0), get(1));
  const [fields] = [...framesIn(seen.received())].filter(({ type }) => type === FRAME.headers);
  expect(fields?.flags).toBe(END_HEADERS | END_STREAM);
});

test("section 6.5.2: no DATA frame is longer than the client takes", async () => {
  const seen = connect(respond(50_000));
  await seen.send(PREFACE, get(1));
  expect(Math.max(...dataOf(seen.received(), 1).map(({ payload }) => payload.length))).toBe(16_384);
});

test("section 5.2: DATA that is read, refused, padded or late takes no window for long", async () => {
  const seen = connect((stream) => {
    if (stream.id === 1) void stream.body.collect(2 ** 20);
    else stream.respond({ status: 413, headers: {}, body: null });
  });
  const data = (stream: number) =>
    frame(FRAME.data, 8, stream, Buffer.concat([Buffer.from([255]), Buffer.alloc(16_000)]));
  await seen.send(PREFACE, post(1), post(3), post(5), frame(FRAME.reset, 0, 5, number(8)));
  for (let round = 0; round < 100; round++) await seen.send(data(1), data(3));
  expect(errorIn(seen.received(), 0)).toBeUndefined();
  expect(errorIn(seen.received(), 1)).toBeUndefined();
  const given = [...framesIn(seen.received())].filter(
    ({ type, stream }) => type === WINDOW_UPDATE && stream === 0,
  );
  const bytes = given.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
  expect(bytes).toBeGreaterThan(200 * 16_001 - 2 ** 19);
});

test("section 6.9.1: DATA beyond the window of a stream resets it", async () => {
  const seen = connect(() => {});
  const data = frame(FRAME.data, 0, 1, Buffer.alloc(16_384));
  await seen.send(PREFACE, post(1), ...Array.from({ length: 17 }, () => data));
  expect(errorIn(seen.received(), 1)).toBe(3);
  expect(errorIn(seen.received(), 0)).toBeUndefined();
});

test("section 6.9.1: DATA beyond the window of the connection ends it", async () => {
  const seen = connect(() => {});
  const all = [1, 3, 5, 7, 9].flatMap((stream) => [
    post(stream),
    ...Array.from({ length: 16 }, () => frame(FRAME.data, 0, stream, Buffer.alloc(16_384))),
  ]);
  await seen.send(PREFACE, ...all);
  expect(errorIn(seen.received(), 0)).toBe(3);
});

test("a body as it comes is sent no faster than the client reads, and cancelled when the client resets the stream", async () => {
  let pulled = 0;
  let isCancelled = false;
  const parts = () =>
    new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled++;
          controller.enqueue(new Uint8Array(1000));
        },
        cancel() {
          isCancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
  const seen = connect((stream) => stream.respond({ status: 200, headers: {}, body: null, stream: parts() }));
  await seen.send(PREFACE, initialWindow(2500), get(1));
  expect([bytesOf(seen.received(), 1), pulled]).toEqual([2500, 3]);
  await seen.send(window(1, 1000));
  expect([bytesOf(seen.received(), 1), pulled]).toEqual([3500, 4]);
  await seen.send(frame(FRAME.reset, 0, 1, number(8)));
  expect(isCancelled).toBe(true);
});

test("a body is read as it comes: the window of its stream grows with what is read", async () => {
  let body: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const seen = connect((stream) => {
    body = stream.body.stream().getReader();
  });
  await seen.send(
    PREFACE,
    post(1),
    ...Array.from({ length: 16 }, () => frame(FRAME.data, 0, 1, Buffer.alloc(16_384))),
  );
  const updates = () =>
    [...framesIn(seen.received())].filter(({ type, stream }) => type === WINDOW_UPDATE && stream === 1)
      .length;
  expect(updates()).toBe(0);
  for (let part = 0; part < 8; part++) expect((await body!.read()).value?.length).toBe(16_384);
  await seen.send();
  expect(updates()).toBe(1);
});

test("a connection is stalled while every response waits for the client, and not once it reads", async () => {
  const seen = connect(respond(100));
  await seen.send(PREFACE, initialWindow(10), get(1), get(3));
  const stalled = (now: number) => seen.connection.stalledFor(now);
  expect([stalled(1000), stalled(4000)]).toEqual([0, 3000]);
  await seen.send(window(3, 1));
  expect([stalled(5000), stalled(6000)]).toEqual([0, 1000]);
  await seen.send(window(1, 90), window(3, 89));
  expect([stalled(7000), stalled(9000)]).toEqual([0, 0]);
});

test("DATA frames of one byte each are kept together until they are read", async () => {
  const streams: Http2Stream[] = [];
  const seen = connect((stream) => streams.push(stream));
  const bytes = Array.from({ length: 1000 }, (_, byte) => byte % 256);
  await seen.send(PREFACE, post(1), ...bytes.map((byte) => frame(FRAME.data, 0, 1, Buffer.from([byte]))));
  const { value } = await streams[0]!.body.stream().getReader().read();
  expect([...value!]).toEqual(bytes);
});
