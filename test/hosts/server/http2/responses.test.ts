import { expect, test } from "vitest";
import { BodyCutOff } from "../../../../src/http2/body.ts";
import { HpackDecoder } from "../../../../src/http2/hpack.ts";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, framesIn, PREFACE, reset } from "../http2-frames.ts";
import { answersIn, connect, echo, get, post } from "./connected.ts";

const head = (stream: number) =>
  frame(
    FRAME.headers,
    END_HEADERS | END_STREAM,
    stream,
    Buffer.concat([Buffer.from([0x02, 0x04]), Buffer.from("HEAD"), Buffer.from([0x87, 0x84])]),
  );
const typesOf = (bytes: Buffer) => answersIn(bytes).map(({ type, flags }) => [type, flags & END_STREAM]);

test("the answers to one read go out in one write", async () => {
  const seen = connect(echo);
  let writes = 0;
  seen.client.on("data", () => writes++);
  await seen.send(Buffer.concat([PREFACE, ...[1, 3, 5, 7].map((stream) => get(stream))]));
  expect(answersIn(seen.received())).toHaveLength(8);
  // Settings and the window of the connection, then everything else.
  expect(writes).toBe(2);
});

test("HEAD has no DATA (section 8.1)", async () => {
  const seen = connect((stream) =>
    stream.respond({ status: 200, headers: { "content-length": "5" }, body: Buffer.from("hello") }),
  );
  await seen.send(PREFACE, head(1));
  expect(typesOf(seen.received())).toEqual([[FRAME.headers, END_STREAM]]);
});

test("100-continue is sent when the body is wanted, once, before the response (RFC 9110 section 10.1.1)", async () => {
  const seen = connect(echo);
  await seen.send(PREFACE, post(1, [["expect", "100-continue"]]));
  expect(typesOf(seen.received())).toEqual([[FRAME.headers, 0]]);
  await seen.send(frame(FRAME.data, END_STREAM, 1, Buffer.from("abc")));
  expect(typesOf(seen.received())).toEqual([
    [FRAME.headers, 0],
    [FRAME.headers, 0],
    [FRAME.data, END_STREAM],
  ]);
});

test("a response before the body has come is sent whole, and the rest of the body is read (section 8.1)", async () => {
  const seen = connect((stream) =>
    stream.respond({ status: 413, headers: {}, body: Buffer.from("too large") }),
  );
  await seen.send(PREFACE, post(1));
  expect(typesOf(seen.received())).toEqual([
    [FRAME.headers, 0],
    [FRAME.data, END_STREAM],
  ]);
  expect(seen.connection.openStreams).toBe(1);
  await seen.send(frame(FRAME.data, END_STREAM, 1, Buffer.alloc(1000)), get(3));
  expect(seen.connection.openStreams).toBe(0);
  expect([...framesIn(seen.received())].some(({ type }) => type === FRAME.reset)).toBe(false);
});

test("trailers end a body", async () => {
  const seen = connect(echo);
  const trailers = frame(FRAME.headers, END_HEADERS | END_STREAM, 1, Buffer.from([0, 1, 0x61, 1, 0x62]));
  await seen.send(PREFACE, post(1), frame(FRAME.data, 0, 1, Buffer.from("abc")), trailers);
  expect(answersIn(seen.received()).at(-1)?.payload.toString()).toBe("GET / 3");
});

test("a body that is cut off by a reset fails where it is read", async () => {
  const failed: unknown[] = [];
  const seen = connect(
    (stream) => void Promise.resolve(stream.body.collect(100)).catch((error) => failed.push(error)),
  );
  await seen.send(PREFACE, post(1), frame(FRAME.data, 0, 1, Buffer.from("x")), reset(1));
  expect(failed).toEqual([expect.any(BodyCutOff)]);
});

test("a body longer than its reader allows is not collected", async () => {
  const bodies: unknown[] = [];
  const seen = connect(
    (stream) => void Promise.resolve(stream.body.collect(3)).then((body) => bodies.push(body)),
  );
  await seen.send(PREFACE, post(1), frame(FRAME.data, END_STREAM, 1, Buffer.from("abcd")));
  expect(bodies).toEqual([undefined]);
});

test.each([
  ["a line end in a value", { "x-a": "1\r\nx-b: 2" }],
  ["a character above U+00FF", { "x-a": "€" }],
  ["a field of HTTP/1.1", { connection: "close" }],
  ["a space in a name", { "x a": "1" }],
])("a response with %s throws, and another one can be sent", async (_, headers) => {
  const seen = connect((stream) => {
    expect(() => stream.respond({ status: 200, headers, body: null })).toThrow(TypeError);
    stream.respond({ status: 500, headers: {}, body: null });
  });
  await seen.send(PREFACE, get(1));
  expect(typesOf(seen.received())).toEqual([[FRAME.headers, END_STREAM]]);
});

test("a stream is closed once, whoever ends it", async () => {
  const closed: number[] = [];
  const streams: Http2Stream[] = [];
  const seen = connect((stream) => {
    streams.push(stream);
    stream.whenClosed = ({ id }) => closed.push(id);
  });
  await seen.send(PREFACE, get(1), get(3), get(5));
  streams[0]!.respond({ status: 200, headers: {}, body: null });
  await seen.send(reset(3));
  streams[1]!.respond({ status: 200, headers: {}, body: null });
  seen.connection.end(0);
  expect(closed).toEqual([1, 3, 5]);
  streams[2]!.respond({ status: 200, headers: {}, body: null });
  expect(closed).toHaveLength(3);
});

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
  const ping = [...framesIn(seen.received())].find(({ type }) => type === FRAME.ping)!;
  await seen.send(
    frame(FRAME.ping, 1, 0, ping.payload),
    post(5),
    frame(FRAME.data, END_STREAM, 5, Buffer.from("x")),
  );
  const last = [...framesIn(seen.received())]
    .filter(({ type }) => type === FRAME.goaway)
    .map(({ payload }) => payload.readUInt32BE(0));
  expect(last).toEqual([2 ** 31 - 1, 3]);
  for (const stream of waiting) echo(stream);
  await seen.send();
  expect(
    answersIn(seen.received())
      .filter(({ type }) => type === FRAME.data)
      .map(({ stream }) => stream),
  ).toEqual([1, 3]);
  expect(isOver).toBe(true);
});

test("a client that ends its side gets the answers that it waits for", async () => {
  const waiting: Http2Stream[] = [];
  const seen = connect((stream) => waiting.push(stream));
  await seen.send(PREFACE, get(1));
  seen.client.end();
  await seen.send();
  for (const stream of waiting) echo(stream);
  await seen.send();
  expect(answersIn(seen.received()).some(({ type }) => type === FRAME.data)).toBe(true);
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

test("fields beyond a frame go on in CONTINUATION frames, with nothing in between (section 6.10)", async () => {
  const headers = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`x-${index}`, "a".repeat(3000)]),
  );
  const seen = connect((stream) => stream.respond({ status: 200, headers, body: null }));
  await seen.send(PREFACE, get(1));
  const frames = answersIn(seen.received());
  expect(frames.map(({ type }) => type)).toEqual([FRAME.headers, ...Array(5).fill(FRAME.continuation)]);
  expect(frames.map(({ flags }) => flags)).toEqual([END_STREAM, 0, 0, 0, 0, END_HEADERS]);
  const block = Buffer.concat(frames.map(({ payload }) => payload));
  const { fields } = new HpackDecoder({ headerBytes: 100_000, headerFields: 100 }).decode(
    block,
    0,
    block.length,
  );
  expect(fields).toHaveLength(64);
});
