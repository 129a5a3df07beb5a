import { RecordType } from "../dns/codes.ts";

/*
 * Record blocks: the RRsets of one name as bytes, from which answers are copied. Numbers are big-endian, as in DNS.
 *
 *   block    set count u8, sets; if the name's form says so, variant count, variants (view u16, set count u8, sets)
 *   set      type u8, terms u16, count, data: A 4, AAAA 16, SRV 6 bytes each (port u16; where its target's name is, from the start of the record on,
 *            i32); other types: length u16 and RDATA for each
 *   count    u8; if it is 255, the count is in the u16 after it
 */

/** The mark of a count whose number is in the next two bytes. */
export const LONG_COUNT = 255;
/** Offset of each field of a set after its type. */
export const SetField = { terms: 1, count: 3 } as const;
/**
 * Type of an empty set at `pod` of a cluster's own zone: names of addresses with dashes below its namespaces exist, although nothing lists them. No
 * record has this type (RFC 6895 section 3.1).
 */
export const POD_NAMES = 0;
/** The bit of a set's TTL that disables the rotation of its records. */
export const KEEP_ORDER = 0x80000000;

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

/** The number of records of a set. */
export function recordCount(heap: Uint8Array, set: number): number {
  return readCount(heap, set + SetField.count);
}

/** The offset of the first record of a set. */
export function recordsOf(heap: Uint8Array, set: number): number {
  return countEnd(heap, set + SetField.count);
}

/** The offset after the set at `set`. */
export function setEnd(heap: Uint8Array, set: number): number {
  const fixed = fixedDataBytes(heap[set]!);
  const count = recordCount(heap, set);
  let position = recordsOf(heap, set);
  if (fixed > 0) return position + fixed * count;
  for (let index = 0; index < count; index++) position += 2 + read16(heap, position);
  return position;
}

/** The offset of the name that an SRV record at `record` has as its target. */
export function targetOf(heap: Uint8Array, record: number): number {
  return record + (read32(heap, record + 2) | 0);
}

/** The offset of the set of `type` in the set list at `list` (its count byte), or 0 if it has none. */
export function findSet(heap: Uint8Array, list: number, type: number): number {
  let set = list + 1;
  for (let left = heap[list]!; left > 0; left--) {
    if (heap[set] === type) return set;
    set = setEnd(heap, set);
  }
  return 0;
}

/** The offset after the set list at `list`. */
function listEnd(heap: Uint8Array, list: number): number {
  let position = list + 1;
  for (let left = heap[list]!; left > 0; left--) position = setEnd(heap, position);
  return position;
}

/** The set list of a record block with variants for a view index. */
export function listForView(heap: Uint8Array, block: number, view: number): number {
  let position = listEnd(heap, block);
  let left = readCount(heap, position);
  position = countEnd(heap, position);
  for (; left > 0; left--) {
    if (read16(heap, position) === view) return position + 2;
    position = listEnd(heap, position + 2);
  }
  return block;
}
