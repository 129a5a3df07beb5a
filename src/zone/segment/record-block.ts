import { RecordType } from "../../dns/codes.ts";
import { LONG_COUNT, SET_HEADER_BYTES, SetField } from "./layout.ts";

/** The size in bytes of each record's data in a set of this type, or 0 if each has its own length. */
export function fixedDataBytes(type: number): number {
  switch (type) {
    case RecordType.A:
      return 4;
    case RecordType.AAAA:
      return 16;
    case RecordType.SRV:
      return 6;
    default:
      return 0;
  }
}

/** Reads a big-endian 16-bit number. */
export function read16(bytes: Uint8Array, position: number): number {
  return (bytes[position]! << 8) | bytes[position + 1]!;
}

/** Reads a big-endian 32-bit number. */
export function read32(bytes: Uint8Array, position: number): number {
  return (
    ((bytes[position]! << 24) |
      (bytes[position + 1]! << 16) |
      (bytes[position + 2]! << 8) |
      bytes[position + 3]!) >>>
    0
  );
}

/** Writes a big-endian 16-bit number. */
export function write16(bytes: Uint8Array, position: number, value: number): void {
  bytes[position] = value >>> 8;
  bytes[position + 1] = value;
}

/** Writes a big-endian 32-bit number. */
export function write32(bytes: Uint8Array, position: number, value: number): void {
  bytes[position] = value >>> 24;
  bytes[position + 1] = value >>> 16;
  bytes[position + 2] = value >>> 8;
  bytes[position + 3] = value;
}

/** Reads a count. */
export function readCount(bytes: Uint8Array, position: number): number {
  const count = bytes[position]!;
  return count < LONG_COUNT ? count : read16(bytes, position + 1);
}

/** The offset after a count. */
export function countEnd(bytes: Uint8Array, position: number): number {
  return position + (bytes[position]! < LONG_COUNT ? 1 : 3);
}

/** The offset after the set at `set`. */
export function setEnd(heap: Uint8Array, set: number): number {
  const fixed = fixedDataBytes(read16(heap, set));
  const count = read16(heap, set + SetField.count);
  let position = set + SET_HEADER_BYTES;
  if (fixed > 0) return position + fixed * count;
  for (let index = 0; index < count; index++) position += 2 + read16(heap, position);
  return position;
}

/** The offset of the set of `type` in the set list at `list` (its count byte), or 0 if it has none. */
export function findSet(heap: Uint8Array, list: number, type: number): number {
  let set = list + 1;
  for (let left = heap[list]!; left > 0; left--) {
    if (read16(heap, set) === type) return set;
    set = setEnd(heap, set);
  }
  return 0;
}

/** The offset after the set list at `list`. */
export function listEnd(heap: Uint8Array, list: number): number {
  let position = list + 1;
  for (let left = heap[list]!; left > 0; left--) position = setEnd(heap, position);
  return position;
}

/** The set list of a record block for a view index, or for queries without a view if `view` is -1. */
export function listForView(heap: Uint8Array, block: number, view: number): number {
  if (view < 0) return block;
  let position = listEnd(heap, block);
  let left = readCount(heap, position);
  position = countEnd(heap, position);
  for (; left > 0; left--) {
    if (read16(heap, position) === view) return position + 2;
    position = listEnd(heap, position + 2);
  }
  return block;
}
