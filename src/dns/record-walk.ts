import { MAX_LABEL_BYTES, MAX_NAME_BYTES } from "./codes.ts";

/** Where a resource record lies in a message (RFC 1035 section 4.1.3). */
export interface RecordPlace {
  /** Offset of the owner name. */
  readonly start: number;
  readonly type: number;
  /** The CLASS field; in an OPT record the payload size. */
  readonly class: number;
  /** The TTL field; in an OPT record the extended rcode, version and flags. */
  readonly ttl: number;
  readonly dataStart: number;
  readonly end: number;
}

const FIXED_BYTES = 10;

/** The 16-bit number at an offset of a message. */
export function readWord(message: Uint8Array, at: number): number {
  return (message[at]! << 8) | message[at + 1]!;
}

/**
 * The offset behind a possibly compressed name, or -1 where it is malformed or cut off. Pointers are not followed, but
 * one that does not lead backwards is malformed (RFC 1035 section 4.1.4).
 */
export function skipName(message: Uint8Array, start: number): number {
  let position = start;
  while (position < message.length) {
    const length = message[position]!;
    if (length === 0) return position + 1;
    if (length >= 0xc0) {
      if (position + 2 > message.length) return -1;
      return (readWord(message, position) & 0x3fff) < start ? position + 2 : -1;
    }
    if (length > MAX_LABEL_BYTES || position - start + length + 1 >= MAX_NAME_BYTES) return -1;
    position += length + 1;
  }
  return -1;
}

/** The record whose owner name starts at an offset; undefined where it is malformed or cut off. */
export function readRecord(message: Uint8Array, start: number): RecordPlace | undefined {
  const fixed = skipName(message, start);
  if (fixed < 0 || fixed + FIXED_BYTES > message.length) return undefined;
  const dataStart = fixed + FIXED_BYTES;
  const end = dataStart + readWord(message, fixed + 8);
  if (end > message.length) return undefined;
  return {
    start,
    type: readWord(message, fixed),
    class: readWord(message, fixed + 2),
    ttl: readWord(message, fixed + 4) * 0x10000 + readWord(message, fixed + 6),
    dataStart,
    end,
  };
}
