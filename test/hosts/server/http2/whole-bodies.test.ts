import { expect, test } from "vitest";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { END_STREAM, FRAME, frame, PREFACE, reset } from "../http2-frames.ts";
import { answersIn, connect, post } from "./connected.ts";

const BODY = Buffer.from("a whole body");
const whole = (stream: number, body: Uint8Array = BODY) =>
  Buffer.concat([post(stream), frame(FRAME.data, END_STREAM, stream, body)]);
const lengthOf = (body: unknown) => (body as Uint8Array | undefined)?.length;
test("a handler that reads it after the turn gets the bytes that came", async () => {
  const streams: Http2Stream[] = [];
  const seen = connect((stream) => streams.push(stream));
  const bytes = Buffer.concat([PREFACE, whole(1)]);
  await seen.send(bytes);
  bytes.fill(0);
  expect(await streams[0]!.collect(100)).toEqual(new Uint8Array(BODY));
});

test("requests with bodies that come frame by frame, all headers first, get their own bodies", async () => {
  const bodies = new Map<number, unknown>();
  const seen = connect((stream) => bodies.set(stream.id, lengthOf(stream.collect(100))));
  const ids = Array.from({ length: 50 }, (_, index) => 2 * index + 1);
  const data = ids.map((id) => frame(FRAME.data, END_STREAM, id, Buffer.alloc(id)));
  await seen.send(Buffer.concat([PREFACE, ...ids.map((id) => post(id)), ...data]));
  expect([...bodies]).toEqual(ids.map((id) => [id, id > 100 ? undefined : id]));
});

test("requests of one read that are reset free their places", async () => {
  const handled: number[] = [];
  const seen = connect((stream) => handled.push(stream.id), { streams: 2 });
  await seen.send(Buffer.concat([PREFACE, whole(1), reset(1), whole(3), whole(5), whole(7)]));
  expect(handled).toEqual([3, 5]);
  expect(seen.resets).toBe(2);
  expect([...seen.connection.streams()].map(({ id }) => id)).toEqual([3, 5]);
});

test("a handler that ends the connection closes the requests of the same read that wait", async () => {
  const closed: number[] = [];
  const seen = connect((stream) => {
    stream.whenClosed = ({ id }) => closed.push(id);
    seen.connection.end(0);
  });
  await seen.send(Buffer.concat([PREFACE, whole(1), whole(3)]));
  expect(closed).toEqual([1]);
  expect(seen.connection.openStreams).toBe(0);
});

test.each([
  ["reads", (stream: Http2Stream) => void stream.collect(20_000)],
  ["ignores", () => {}],
  ["reads too late", (stream: Http2Stream) => void setImmediate(() => stream.collect(20_000))],
])("bodies that a handler %s give their bytes back to the connection's window", async (_, handle) => {
  const seen = connect((stream) => {
    handle(stream);
    stream.respond({ status: 204, headers: {}, body: null });
  });
  const body = Buffer.alloc(16_000);
  for (let stream = 1; stream < 400; stream += 2)
    await seen.send(stream === 1 ? PREFACE : Buffer.alloc(0), whole(stream, body));
  expect(seen.failures).toEqual([]);
  expect(answersIn(seen.received()).at(-1)?.stream).toBe(399);
});
