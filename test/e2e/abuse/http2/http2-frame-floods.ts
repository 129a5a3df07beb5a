import { headerBlock, literal } from "./header-block.ts";
import { Flag, FrameType, frame, Setting, settings, uint32 } from "./http2-frames.ts";

const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;
const GET = headerBlock(
  "GET",
  "/dns-query?dns=AAABAAABAAAAAAAAA3dlYgRzaG9wA3N2YwpjbHVzdGVyc2V0BWxvY2FsAAABAAE",
);
const POST = headerBlock("POST", "/dns-query", { "content-type": "application/dns-message" });
const get = (stream: number) => frame(FrameType.HEADERS, WHOLE, stream, GET);
const post = (stream: number) => frame(FrameType.HEADERS, Flag.END_HEADERS, stream, POST);
const CANCEL = uint32(8);

/** Frames of an attack. */
export interface Flood {
  readonly title: string;
  /** What the connection starts with. */
  readonly first?: () => Buffer;
  /** What is sent again and again. @param turn from 0 */
  readonly again: (turn: number) => Buffer;
  readonly times: number;
  /**
   * The gateway has to end the connection, and to count it; else it may take everything. As labels of
   * metrics.
   */
  readonly ends?: { readonly limit: string } | { readonly source: "http2" };
  /** Whether the client takes nothing that the gateway sends. */
  readonly isDeaf?: boolean;
}

/**
 * Headers of which 4,000 bytes go into the dynamic table, and a thousand references to them: 4 MB out of one
 * kilobyte.
 */
const filling = Buffer.concat([GET, literal("x", "y".repeat(4000), 0x40)]);
const referring = Buffer.concat([GET, Buffer.alloc(1000, 0xbe)]);

const long = Buffer.concat([GET, literal("x", "y".repeat(28_000))]);

/** Attacks that HTTP/2 servers have met, and a few more. */
export const floods: readonly Flood[] = [
  {
    title: "rapid reset (CVE-2023-44487)",
    again: (turn) => Buffer.concat([get(2 * turn + 1), frame(FrameType.RST_STREAM, 0, 2 * turn + 1, CANCEL)]),
    times: 50_000,
    ends: { limit: "limits.streamResets" },
  },
  {
    title: "resets that the gateway is made to send (CVE-2025-8671)",
    again: (turn) =>
      Buffer.concat([post(2 * turn + 1), frame(FrameType.WINDOW_UPDATE, 0, 2 * turn + 1, uint32(0))]),
    times: 50_000,
    ends: { limit: "limits.streamResets" },
  },
  {
    title: "CONTINUATION without end (CVE-2024-27316)",
    first: () => frame(FrameType.HEADERS, Flag.END_STREAM, 1, GET),
    again: (turn) => frame(FrameType.CONTINUATION, 0, 1, literal(`x-${turn}`, "y".repeat(1000))),
    times: 20_000,
    ends: { limit: "http2" },
  },
  {
    title: "CONTINUATION without content",
    first: () => frame(FrameType.HEADERS, Flag.END_STREAM, 1, GET),
    again: () => frame(FrameType.CONTINUATION, 0, 1),
    times: 100_000,
    ends: { limit: "http2" },
  },
  {
    title: "header blocks that unpack into megabytes",
    first: () => frame(FrameType.HEADERS, WHOLE, 1, filling),
    again: (turn) => frame(FrameType.HEADERS, WHOLE, 2 * turn + 3, referring),
    times: 1000,
    ends: { limit: "limits.headerFields" },
  },
  {
    title: "fields longer than a header may be",
    again: (turn) =>
      Buffer.concat([
        frame(FrameType.HEADERS, Flag.END_STREAM, 2 * turn + 1, long.subarray(0, 16_000)),
        frame(FrameType.CONTINUATION, Flag.END_HEADERS, 2 * turn + 1, long.subarray(16_000)),
      ]),
    times: 1000,
    ends: { limit: "limits.headerBytes" },
  },
  {
    title: "requests that are none",
    again: (turn) => frame(FrameType.HEADERS, WHOLE, 2 * turn + 1, literal("X-Upper", "y")),
    times: 10_000,
    ends: { limit: "limits.streamResets" },
  },
  {
    title: "more streams than are allowed, none of which ends",
    again: (turn) => post(2 * turn + 1),
    times: 10_000,
    ends: { limit: "limits.streamsPerConnection" },
  },
  {
    title: "PING, by a client that takes no answers",
    again: () => frame(FrameType.PING, 0, 0, Buffer.alloc(8)),
    times: 1_000_000,
    ends: { limit: "http2" },
    isDeaf: true,
  },
  {
    title: "SETTINGS, by a client that takes no answers",
    again: () => settings({ [Setting.INITIAL_WINDOW_SIZE]: 1 }),
    times: 1_000_000,
    ends: { limit: "http2" },
    isDeaf: true,
  },
  {
    title: "SETTINGS of a thousand entries",
    again: () => frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(6000, Buffer.of(0x7f, 1, 0, 0, 0, 0))),
    times: 100,
    ends: { limit: "limits.requestSeconds" },
  },
  {
    title: "a frame that is announced with 16 MB",
    again: () => frame(FrameType.DATA, 0, 1, Buffer.alloc(64)).fill(0xff, 0, 3),
    times: 10_000,
    ends: { source: "http2" },
  },
  {
    title: "a window that overflows",
    again: () => frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(0x7fffffff)),
    times: 2,
    ends: { source: "http2" },
  },
  {
    title: "updates of a window that nothing waits for",
    again: () => frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(1)),
    times: 100_000,
  },
  {
    title: "resets of a stream that is closed",
    first: () => get(1),
    again: () => frame(FrameType.RST_STREAM, 0, 1, CANCEL),
    times: 100_000,
  },
  {
    title: "PING",
    again: () => frame(FrameType.PING, 0, 0, Buffer.alloc(8)),
    times: 100_000,
  },
  {
    title: "PRIORITY",
    again: (turn) => frame(FrameType.PRIORITY, 0, 2 * turn + 1, Buffer.of(0, 0, 0, 0, 16)),
    times: 100_000,
  },
  {
    title: "DATA without content",
    first: () => post(1),
    again: () => frame(FrameType.DATA, 0, 1),
    times: 100_000,
  },
  {
    title: "frames of an unknown type",
    again: () => frame(0x42, 0, 0, Buffer.alloc(100)),
    times: 100_000,
  },
];
