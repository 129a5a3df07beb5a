import { HEADER_BYTES, MAX_LABEL_BYTES, MAX_NAME_BYTES } from "./name.ts";

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
const OPTION_HEADER_BYTES = 4;

/** The 16-bit number at an offset of a message. */
export function readWord(message: Uint8Array, at: number): number {
  return (message[at]! << 8) | message[at + 1]!;
}

/** The 32-bit number at an offset of a message. */
export function readLong(message: Uint8Array, at: number): number {
  return readWord(message, at) * 0x10000 + readWord(message, at + 2);
}

/**
 * Reads the name at an offset of a message (RFC 1035 section 4.1.4). Each compression pointer must point
 * before the name, before the previous pointer, and behind the header; so every name ends. Labels of more
 * than 63 bytes and names of more than 255 are malformed.
 * @param into receives the name uncompressed, case kept, with the root byte; 255 bytes are enough
 * @returns the offset after the name in the message, or -1 if it is malformed or cut off
 */
export function readName(message: Uint8Array, start: number, into?: Uint8Array): number {
  let end = -1;
  let bytes = 0;
  let least = start;
  let at = start;
  while (at < message.length) {
    const length = message[at]!;
    if (length >= 0xc0) {
      const target = at + 1 < message.length ? readWord(message, at) & 0x3fff : least;
      if (target >= least || target < HEADER_BYTES) return -1;
      if (end < 0) end = at + 2;
      at = least = target;
      continue;
    }
    const next = at + length + 1;
    if (length > MAX_LABEL_BYTES || next > message.length || bytes + length + 1 > MAX_NAME_BYTES) return -1;
    if (into !== undefined) for (let from = at; from < next; from++) into[bytes + from - at] = message[from]!;
    bytes += length + 1;
    at = next;
    if (length === 0) return end < 0 ? at : end;
  }
  return -1;
}

/** The record whose owner name starts at an offset; undefined if it is malformed or cut off. */
export function readRecord(message: Uint8Array, start: number): RecordPlace | undefined {
  const fixed = readName(message, start);
  if (fixed < 0 || fixed + FIXED_BYTES > message.length) return undefined;
  const dataStart = fixed + FIXED_BYTES;
  const end = dataStart + readWord(message, fixed + 8);
  if (end > message.length) return undefined;
  return {
    start,
    type: readWord(message, fixed),
    class: readWord(message, fixed + 2),
    ttl: readLong(message, fixed + 4),
    dataStart,
    end,
  };
}

/**
 * Where the EDNS option at an offset ends (RFC 6891 section 6.1.2), with 4 bytes of code and length; -1 if
 * `end` cuts it off.
 */
export function optionEnd(message: Uint8Array, at: number, end: number): number {
  if (at + OPTION_HEADER_BYTES > end) return -1;
  const next = at + OPTION_HEADER_BYTES + readWord(message, at + 2);
  return next <= end ? next : -1;
}
