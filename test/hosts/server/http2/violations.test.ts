import { expect, test } from "vitest";
import { END_HEADERS, END_STREAM, FRAME, frame, getHeaders, PREFACE } from "../http2-frames.ts";
import { answersIn, connect, data, echo, get, number, post, WINDOW_UPDATE } from "./connected.ts";

const PRIORITY = 2;
const PUSH_PROMISE = 5;
const PADDED = 8;
const [PROTOCOL, FLOW, CLOSED, SIZE, REFUSED, COMPRESSION, CALM] = [1, 3, 5, 6, 7, 9, 11] as const;

const setting = (id: number, value: number) => Buffer.concat([Buffer.from([0, id]), number(value)]);
const settings = (id: number, value: number) => frame(FRAME.settings, 0, 0, setting(id, value));
const windowUpdate = (stream: number, by: number) => frame(WINDOW_UPDATE, 0, stream, number(by));
const block = (...bytes: number[]) => frame(FRAME.headers, END_HEADERS | END_STREAM, 1, Buffer.from(bytes));
const MOST = 2 ** 31 - 1;
const OPEN = frame(FRAME.headers, 0, 1, getHeaders());
/** HEADERS and CONTINUATION frames that do not end the field block. */
const unended = (count: number, bytes: number) =>
  Array.from({ length: 1 + count }, (_, index) =>
    frame(index === 0 ? FRAME.headers : FRAME.continuation, 0, 1, Buffer.alloc(bytes)),
  );
const LENGTH = { "content-length": "2" };
const LENGTHS = ["2", "3"].map((length) => ["content-length", length] as const);
/** `:method: GET`, `:scheme: https`, `:path: /` */
const LINE = [0x82, 0x87, 0x84];

test.each<[section: string, what: string, frames: Buffer[], code?: number]>([
  ["4.2", "a frame longer than 16,384 bytes", [frame(FRAME.data, 0, 1, Buffer.alloc(16_385))], SIZE],
  ["4.3", "a field block that cannot be decoded", [block(0x80)], COMPRESSION],
  ["5.1", "DATA on an idle stream", [data(1, "x")]],
  ["5.1", "RST_STREAM on an idle stream", [frame(FRAME.reset, 0, 1, number(8))]],
  ["5.1", "WINDOW_UPDATE on an idle stream", [windowUpdate(1, 1)]],
  ["5.1.1", "HEADERS on an even stream", [get(2)]],
  ["5.1.1", "HEADERS on a stream that was skipped", [get(3), get(1)], CLOSED],
  ["5.5", "an unknown frame inside a field block", [OPEN, frame(77, 0, 1)]],
  ["6.1", "DATA on stream 0", [data(0, "x")]],
  ["6.1", "padding as long as the payload", [post(1), data(1, Uint8Array.of(2, 0), PADDED)]],
  ["6.4", "RST_STREAM of 3 bytes", [post(1), frame(FRAME.reset, 0, 1, Buffer.alloc(3))], SIZE],
  ["6.5", "SETTINGS on a stream", [frame(FRAME.settings, 0, 1)]],
  ["6.5", "SETTINGS of 5 bytes", [frame(FRAME.settings, 0, 0, Buffer.alloc(5))], SIZE],
  ["6.5", "an acknowledgement with settings", [frame(FRAME.settings, 1, 0, setting(4, 1))], SIZE],
  ["6.5.2", "ENABLE_PUSH of 2", [settings(2, 2)]],
  ["6.5.2", "INITIAL_WINDOW_SIZE of 2^31", [settings(4, 2 ** 31)], FLOW],
  ["6.5.2", "MAX_FRAME_SIZE of 16,383", [settings(5, 16_383)]],
  ["6.5.2", "MAX_FRAME_SIZE of 2^24", [settings(5, 2 ** 24)]],
  ["6.6", "PUSH_PROMISE", [frame(PUSH_PROMISE, 0, 1, number(2))]],
  ["6.7", "PING on a stream", [frame(FRAME.ping, 0, 1, Buffer.alloc(8))]],
  ["6.7", "PING of 7 bytes", [frame(FRAME.ping, 0, 0, Buffer.alloc(7))], SIZE],
  ["6.8", "GOAWAY on a stream", [frame(FRAME.goaway, 0, 1, Buffer.alloc(8))]],
  ["6.9", "WINDOW_UPDATE of the connection by 0", [windowUpdate(0, 0)]],
  ["6.9", "WINDOW_UPDATE of 3 bytes", [frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(3))], SIZE],
  ["6.9.1", "a window of the connection above 2^31-1", [windowUpdate(0, MOST)], FLOW],
  [
    "6.9.2",
    "a window above it by SETTINGS",
    [post(1), windowUpdate(1, MOST - 65_535), settings(4, 65_536)],
    FLOW,
  ],
  ["6.10", "CONTINUATION without HEADERS", [frame(FRAME.continuation, END_HEADERS, 1)]],
  ["6.10", "another stream inside a field block", [OPEN, frame(FRAME.continuation, END_HEADERS, 3)]],
  ["10.5", "65 CONTINUATION frames (CVE-2024-27316)", unended(65, 0), CALM],
  ["10.5", "a field block of 100 KB", unended(6, 16_384), CALM],
  ["7541, 4.2", "a table size update after a field", [block(...LINE, 0x20)], COMPRESSION],
  ["7541, 5.1", "an integer of 5 bytes", [block(...LINE, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)], COMPRESSION],
  ["7541, 5.2", "a string that is cut off", [block(...LINE, 0x00, 0x05, 0x61)], COMPRESSION],
  ["7541, 5.2", "EOS in a string", [block(...LINE, 0, 0x84, 0xff, 0xff, 0xff, 0xff, 1, 0x61)], COMPRESSION],
  ["7541, 5.2", "padding with a zero", [block(...LINE, 0x00, 0x81, 0x1e, 0x01, 0x61)], COMPRESSION],
  ["7541, 6.2", "a literal without a value", [block(...LINE, 0x00, 0x01, 0x61)], COMPRESSION],
  ["7541, 5.2", "padding of 8 bits", [block(...LINE, 0x00, 0x82, 0x1f, 0xff, 0x01, 0x61)], COMPRESSION],
  ["7541, 6.1", "the index 62 of an empty table", [block(...LINE, 0xbe)], COMPRESSION],
  ["7541, 6.3", "a table size above 4,096", [block(0x3f, 0xe2, 0x1f)], COMPRESSION],
])("section %s: %s ends the connection", async (_section, _what, frames, code = PROTOCOL) => {
  const seen = connect(() => {});
  await seen.send(PREFACE, ...frames);
  expect(seen.errorOf(0)).toBe(code);
  expect(seen.failures).toHaveLength(1);
  expect(seen.counts.floods).toBe(code === CALM ? 1 : 0);
});

test.each<[section: string, what: string, frames: Buffer[], code?: number]>([
  ["5.1", "DATA after the end", [get(1), data(1, "x")], CLOSED],
  ["5.1", "trailers after the end", [get(1), get(1)], CLOSED],
  ["5.3", "a PRIORITY that names its own stream", [post(1), frame(PRIORITY, 0, 1, Buffer.of(0, 0, 0, 1, 0))]],
  ["6.3", "PRIORITY of 4 bytes", [post(1), frame(PRIORITY, 0, 1, number(0))], SIZE],
  ["6.9", "WINDOW_UPDATE by 0", [post(1), windowUpdate(1, 0)]],
  ["6.9.1", "a window above 2^31-1", [post(1), windowUpdate(1, MOST)], FLOW],
  ["8.1", "trailers without the end", [post(1), frame(FRAME.headers, END_HEADERS, 1)]],
  ["8.1", "trailers with a pseudo-field", [post(1), get(1)]],
  ["8.1.1", "less DATA than content-length", [post(1, LENGTH), data(1, "x", END_STREAM)]],
  ["8.1.1", "more DATA than content-length", [post(1, LENGTH), data(1, "xyz")]],
  ["8.1.1", "content-length without DATA", [get(1, LENGTH)]],
  ["8.1.1", "two lengths", [frame(FRAME.headers, END_HEADERS, 1, getHeaders(LENGTHS))]],
  ["8.1.1", "a length that is no number", [post(1, { "content-length": "+2" })]],
  ["8.2.1", "upper case in a name", [get(1, { "X-a": "1" })]],
  ["8.2.1", "a space in a name", [get(1, { "x a": "1" })]],
  ["8.2.1", "a line end in a value", [get(1, { "x-a": "1\r\nx-b: 2" })]],
  ["8.2.1", "NUL in a value", [get(1, { "x-a": "1\0" })]],
  ["8.2.1", "a space before a value", [get(1, { "x-a": " 1" })]],
  ["8.2.2", "connection", [get(1, { connection: "close" })]],
  ["8.2.2", "transfer-encoding", [get(1, { "transfer-encoding": "chunked" })]],
  ["8.2.2", "te with more than trailers", [get(1, { te: "trailers, deflate" })]],
  ["8.3", "an unknown pseudo-field", [get(1, { ":x": "1" })]],
  ["8.3", "a pseudo-field of responses", [block(...LINE, 0x88)]],
  ["8.3", "a pseudo-field after a field", [get(1, { "x-a": "1", ":path": "/" })]],
  ["8.3.1", "no :method", [block(0x87, 0x84)]],
  ["8.3.1", "no :scheme", [block(0x82, 0x84)]],
  ["8.3.1", "no :path", [block(0x82, 0x87)]],
  ["8.3.1", "an empty :path", [block(0x82, 0x87, 0x04, 0x00)]],
  ["8.3.1", "a second :method", [block(...LINE, 0x83)]],
  ["8.3.1", "userinfo in :authority", [block(...LINE, 0x01, 0x03, 0x61, 0x40, 0x62)]],
  ["8.3.1", "a Host that is not :authority", [get(1, { host: "b" })]],
  ["8.5", "CONNECT with :path", [block(0x02, 0x07, ...Buffer.from("CONNECT"), 0x84, 0x41, 0x01, 0x61)]],
])(
  "section %s: %s resets the stream, and the next request is answered",
  async (_section, _what, frames, code = PROTOCOL) => {
    const seen = connect((stream) => {
      if (stream.id === 9) echo(stream);
    });
    await seen.send(PREFACE, ...frames, get(9));
    expect(seen.errorOf(1)).toBe(code);
    expect(seen.errorOf(0)).toBeUndefined();
    expect(seen.counts.resets).toBe(1);
    expect(answersIn(seen.received()).filter(({ stream }) => stream === 9)).not.toHaveLength(0);
  },
);

test.each<[string, Buffer, number | undefined, answered: number[]]>([
  ["HEADERS ends the connection", get(1), CLOSED, [1, 1, 0]],
  ["DATA ends the connection", data(1, "x"), CLOSED, [1, 1, 0]],
  ["RST_STREAM means nothing", frame(FRAME.reset, 0, 1, number(8)), undefined, [1, 1, 3, 3]],
  ["WINDOW_UPDATE means nothing", windowUpdate(1, 1), undefined, [1, 1, 3, 3]],
  ["PRIORITY means nothing", frame(PRIORITY, 0, 1, Buffer.alloc(5)), undefined, [1, 1, 3, 3]],
])("section 5.1: on a closed stream %s", async (_, late, code, answered) => {
  const seen = connect(echo);
  await seen.send(PREFACE, get(1));
  await seen.send(late, get(3));
  expect(seen.errorOf(0)).toBe(code);
  expect(answersIn(seen.received()).map(({ stream }) => stream)).toEqual(answered);
});

test("sections 5.1 and 5.4.2: what still comes on a stream that was reset here is ignored", async () => {
  const seen = connect(echo);
  await seen.send(PREFACE, get(1, { X: "1" }), data(1, "x", END_STREAM), get(1), get(3));
  expect(seen.errorOf(0)).toBeUndefined();
  expect(answersIn(seen.received()).map(({ stream }) => stream)).toEqual([1, 3, 3]);
});

test("section 5.1.2: requests beyond the limit are refused, and those within it are answered", async () => {
  const waiting: (() => void)[] = [];
  const seen = connect((stream) => waiting.push(() => echo(stream)), { streams: 2 });
  await seen.send(PREFACE, get(1), get(3), get(5));
  expect(seen.errorOf(5)).toBe(REFUSED);
  for (const answer of waiting) answer();
  await seen.send(get(7));
  expect(waiting).toHaveLength(3);
  expect(seen.errorOf(0)).toBeUndefined();
});

test.each([
  ["no preface", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
  ["no SETTINGS behind it", Buffer.concat([PREFACE.subarray(0, 24), get(1)])],
])("section 3.4: a connection that begins with %s ends", async (_, bytes) => {
  const seen = connect(echo);
  await seen.send(bytes);
  expect(seen.errorOf(0)).toBe(PROTOCOL);
});

test.each<[string, Buffer]>([
  ["PING", frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
  ["SETTINGS", frame(FRAME.settings, 0, 0)],
  ["PRIORITY", frame(PRIORITY, 0, 1, Buffer.alloc(5))],
  ["WINDOW_UPDATE", windowUpdate(0, 1)],
  ["empty DATA", frame(FRAME.data, 0, 1)],
  ["unknown frames", frame(99, 0, 0)],
])("section 10.5: a flood of %s ends the connection", async (_, one) => {
  const seen = connect(
    () => {},
    {},
    () => 0,
  );
  await seen.send(PREFACE, post(1), Buffer.concat(Array.from({ length: 10_001 }, () => one)));
  expect(seen.errorOf(0)).toBe(CALM);
  expect(seen.counts.floods).toBe(1);
});

test("a request that the same read resets is never handled (CVE-2023-44487)", async () => {
  let handled = 0;
  const seen = connect(() => handled++);
  await seen.send(PREFACE, Buffer.concat([get(1), frame(FRAME.reset, 0, 1, number(8)), get(3)]));
  expect(handled).toBe(1);
  expect(seen.counts.resets).toBe(1);
});
