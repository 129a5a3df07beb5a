import { ConnectionError, ErrorCode, Flag } from "../protocol.ts";

/** Bytes of the block of a request within the limits are never more; longer ones end the connection. */
const MOST_BYTES_BESIDE_FIELDS = 16 * 1024;
/** CONTINUATION frames of one block (CVE-2024-27316). */
const MOST_FRAMES = 64;

/** A field block that has begun: HEADERS and its CONTINUATION frames (RFC 9113 section 4.3). */
export class FieldBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  constructor(streamId: number, endStream: boolean) {
    this.streamId = streamId;
    this.endStream = endStream;
  }

  /**
   * Adds the fragment of a frame.
   * @param most bytes of fields that a request may have
   * @throws {ConnectionError} if the block is too long to be decoded
   */
  add(bytes: Buffer, start: number, end: number, most: number): void {
    this.#size += end - start;
    if (this.#parts.length >= MOST_FRAMES || this.#size > 2 * most + MOST_BYTES_BESIDE_FIELDS)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a field block is too long");
    this.#parts.push(new Uint8Array(bytes.subarray(start, end)));
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/**
 * Where the fragment of a HEADERS frame, or the data of a DATA frame, is: without padding and priority (RFC 9113 sections 6.1 and 6.2).
 * @throws {ConnectionError}
 */
export function withoutPadding(
  flags: number,
  bytes: Buffer,
  start: number,
  end: number,
  hasPriority: boolean,
): { readonly start: number; readonly end: number } {
  let from = start;
  let padding = 0;
  if ((flags & Flag.PADDED) !== 0) {
    if (from >= end) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "a frame has no pad length");
    padding = bytes[from++]!;
  }
  if (hasPriority) {
    if (end - from < 5)
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS has a cut off priority");
    from += 5;
  }
  if (padding > end - from)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "the padding is longer than the payload");
  return { start: from, end: end - padding };
}
