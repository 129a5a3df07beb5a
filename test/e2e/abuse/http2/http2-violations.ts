import { headerBlock } from "./header-block.ts";
import {
  Flag,
  FrameType,
  frame,
  type RawHttp2Connection,
  Setting,
  settings,
  uint32,
} from "./http2-frames.ts";

/** What ends a connection. */
export interface Violation {
  readonly title: string;
  /** Frames that are forbidden where they come. */
  readonly frames?: Buffer;
  /** What the client does behind its frames. */
  readonly end?: (connection: RawHttp2Connection) => void;
}

const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;
const GET = headerBlock("GET", "/healthz");
/** A frame that is announced with another length than its payload has. */
const ofLength = (length: number, one: Buffer) => {
  one.writeUIntBE(length, 0, 3);
  return one;
};
const goaway = (code: number) =>
  frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32(0x7fffffff), uint32(code)]));

/** Connection errors of RFC 9113, and connections that end without a word. */
export const violations: readonly Violation[] = [
  { title: "DATA on stream 0", frames: frame(FrameType.DATA, 0, 0, Buffer.of(1)) },
  { title: "DATA on an idle stream", frames: frame(FrameType.DATA, 0, 0x7ffffff1, Buffer.of(1)) },
  { title: "HEADERS on stream 0", frames: frame(FrameType.HEADERS, WHOLE, 0, GET) },
  { title: "HEADERS on an even stream", frames: frame(FrameType.HEADERS, WHOLE, 2, GET) },
  {
    title: "HEADERS that HPACK does not know",
    frames: frame(FrameType.HEADERS, WHOLE, 9001, Buffer.alloc(9, 0xff)),
  },
  {
    title: "HEADERS with a padding that is too long",
    frames: frame(FrameType.HEADERS, WHOLE | 8, 9001, Buffer.of(255, 1)),
  },
  {
    title: "HEADERS that go on in DATA",
    frames: Buffer.concat([frame(FrameType.HEADERS, 0, 9001, GET), frame(FrameType.DATA, 0, 9001)]),
  },
  { title: "CONTINUATION of nothing", frames: frame(FrameType.CONTINUATION, Flag.END_HEADERS, 9001, GET) },
  { title: "SETTINGS of a wrong length", frames: frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(5)) },
  { title: "SETTINGS on a stream", frames: frame(FrameType.SETTINGS, 0, 1, Buffer.alloc(6)) },
  { title: "SETTINGS ACK with a payload", frames: frame(FrameType.SETTINGS, Flag.ACK, 0, Buffer.alloc(6)) },
  {
    title: "SETTINGS with a window that is too large",
    frames: settings({ [Setting.INITIAL_WINDOW_SIZE]: 0x80000000 }),
  },
  {
    title: "SETTINGS with windows of nothing, and an overflow",
    frames: Buffer.concat([
      settings({ [Setting.INITIAL_WINDOW_SIZE]: 0 }),
      frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(0x7fffffff)),
    ]),
  },
  { title: "WINDOW_UPDATE by 0", frames: frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(0)) },
  { title: "WINDOW_UPDATE of a wrong length", frames: frame(FrameType.WINDOW_UPDATE, 0, 0, Buffer.alloc(3)) },
  { title: "PING of a wrong length", frames: frame(FrameType.PING, 0, 0, Buffer.alloc(7)) },
  { title: "PING on a stream", frames: frame(FrameType.PING, 0, 1, Buffer.alloc(8)) },
  { title: "RST_STREAM of an idle stream", frames: frame(FrameType.RST_STREAM, 0, 0x7ffffff1, uint32(8)) },
  { title: "RST_STREAM of a wrong length", frames: frame(FrameType.RST_STREAM, 0, 1, Buffer.alloc(3)) },
  { title: "PRIORITY of a wrong length", frames: frame(FrameType.PRIORITY, 0, 1, Buffer.alloc(4)) },
  {
    title: "PUSH_PROMISE",
    frames: frame(FrameType.PUSH_PROMISE, Flag.END_HEADERS, 1, Buffer.concat([uint32(2), GET])),
  },
  { title: "a frame that is too long", frames: ofLength(0xffffff, frame(FrameType.DATA, 0, 1)) },
  {
    title: "a frame that is cut off",
    frames: ofLength(16_000, frame(FrameType.DATA, 0, 1)),
    end: (one) => one.socket.end(),
  },
  { title: "GOAWAY, and more", frames: goaway(0) },
  { title: "GOAWAY with an error, and more", frames: goaway(2) },
  { title: "GOAWAY of a wrong length", frames: frame(FrameType.GOAWAY, 0, 0, Buffer.alloc(7)) },
  {
    title: "bytes that are no frames",
    frames: Buffer.from("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(9)),
  },
  { title: "a second preface", frames: Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") },
  { title: "the end of the client's half", end: (one) => one.socket.end() },
  { title: "TCP RST", end: (one) => one.abort() },
];
