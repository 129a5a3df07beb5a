import { frame } from "../../../hosts/server/http2-frames.ts";

/** The type bytes of frames (RFC 9113 section 6). */
export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** Flags of frames (RFC 9113 section 6). */
export const Flag = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8 } as const;
export const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;

/** A number in four bytes: an error code, an increment of a window. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A SETTINGS frame with an initial window (RFC 9113 section 6.5.2). */
export function initialWindow(size: number): Buffer {
  return frame(FrameType.SETTINGS, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(size)]));
}

/** A header block without Huffman coding and without use of the dynamic table (RFC 7541 section 6.2.2). */
export function headerBlock(
  method: string,
  path: string,
  fields: Readonly<Record<string, string>> = {},
): Buffer {
  const all = { ":method": method, ":scheme": "https", ":authority": "localhost", ":path": path, ...fields };
  return Buffer.concat(Object.entries(all).map(([name, value]) => literal(name, value)));
}

/** A field with its name and value in full. @param first 0x40 to have the dynamic table keep it */
export function literal(name: string, value: string, first = 0): Buffer {
  return Buffer.concat([Buffer.of(first), text(name), text(value)]);
}

/** A text behind its length (RFC 7541 section 5.1). */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const length = [Math.min(bytes.length, 127)];
  if (bytes.length >= 127) {
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}
