import { RecordType } from "../dns/name.ts";

/*
 * Record blocks: the RRsets of one name as bytes, from which answers are copied. Numbers are big-endian, as
 * in DNS.
 *
 *   block set count u8, sets; if the name's form says so, variant count, variants (view u16, set count u8,
 *   sets) set type u8, terms u16, count, data: A 4, AAAA 16, SRV 6 bytes each (port u16; where its target's
 *   name is, from the start of the record on, i32); other types: length u16 and RDATA for each count u8; if
 *   it is 255, the count is in the u16 after it
 */

/** The mark of a count whose number is in the next two bytes. */
export const LONG_COUNT = 255;
/** Offset of each field of a set after its type. */
export const SetField = { terms: 1, count: 3 } as const;
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

/** The most records of one RRset. */
const MAX_SET_RECORDS = 0xffff;
/** Up to so many records are compared one by one; more records are hashed. */
const MAX_COMPARED = 32;

/** The records of one type, in the form of a record block. The targets of SRV records are nodes. */
class RecordSet {
  readonly type: number;
  /** In seconds, with KEEP_ORDER if the order of records matters. */
  readonly ttl: number;
  readonly leaseGroup: number;
  data: number[] = [];
  count = 0;
  #known: Set<string> | undefined;

  constructor(type: number, ttl: number, leaseGroup: number) {
    this.type = type;
    this.ttl = ttl;
    this.leaseGroup = leaseGroup;
  }

  /** Adds a record unless the set has it: equal bytes are equal records (RFC 2181 section 5). */
  add(record: ArrayLike<number>): void {
    if (this.count >= MAX_SET_RECORDS || this.#has(record)) return;
    for (let index = 0; index < record.length; index++) this.data.push(record[index]!);
    this.count++;
  }

  /** Takes over the records of another set of the same type, for a set without any. */
  adopt({ data, count }: RecordSet): void {
    this.data = [...data];
    this.count = count;
  }

  #has(record: ArrayLike<number>): boolean {
    if (this.count < MAX_COMPARED && fixedDataBytes(this.type) > 0) return this.#find(record);
    this.#known ??= new Set(Array.from(this.records(), keyOf));
    const key = keyOf(record);
    if (this.#known.has(key)) return true;
    this.#known.add(key);
    return false;
  }

  #find(record: ArrayLike<number>): boolean {
    const { data } = this;
    const size = record.length;
    for (let start = 0; start < data.length; start += size) {
      // Records of one set usually differ in their last bytes.
      let index = size - 1;
      while (index >= 0 && data[start + index] === record[index]) index--;
      if (index < 0) return true;
    }
    return false;
  }

  *records(): Generator<number[]> {
    const fixed = fixedDataBytes(this.type);
    for (let start = 0; start < this.data.length; ) {
      const end = start + (fixed > 0 ? fixed : 2 + ((this.data[start]! << 8) | this.data[start + 1]!));
      yield this.data.slice(start, end);
      start = end;
    }
  }
}

function keyOf(record: ArrayLike<number>): string {
  let key = "";
  for (let index = 0; index < record.length; index++) key += String.fromCharCode(record[index]!);
  return key;
}

/** The RRsets of one name; duplicates collapse. */
export class RecordSets {
  readonly sets: RecordSet[] = [];

  get isEmpty(): boolean {
    return this.sets.length === 0;
  }

  /** Adds an A or AAAA record, by the length of the address. */
  addAddress(bytes: Uint8Array, ttl: number, leaseGroup: number): void {
    this.#set(bytes.length === 4 ? RecordType.A : RecordType.AAAA, ttl, leaseGroup).add(bytes);
  }

  /** Adds an SRV record (RFC 2782) whose target is a name of the same zone. */
  addService(port: number, node: number, ttl: number, leaseGroup: number): void {
    const record = [port >>> 8, port & 255, node >>> 24, (node >>> 16) & 255, (node >>> 8) & 255, node & 255];
    this.#set(RecordType.SRV, ttl, leaseGroup).add(record);
  }

  /** Adds a record with plain RDATA. */
  addRdata(type: number, bytes: Uint8Array, ttl: number, leaseGroup: number): void {
    this.#set(type, ttl, leaseGroup).add([bytes.length >>> 8, bytes.length & 255, ...bytes]);
  }

  /** Adds all records of other sets. */
  addAll(other: RecordSets): void {
    for (const set of other.sets) {
      const own = this.#set(set.type, set.ttl, set.leaseGroup);
      if (own.count === 0) own.adopt(set);
      else for (const record of set.records()) own.add(record);
    }
  }

  #set(type: number, ttl: number, leaseGroup: number): RecordSet {
    for (const set of this.sets) if (set.type === type) return set;
    const set = new RecordSet(type, ttl, leaseGroup);
    this.sets.push(set);
    return set;
  }
}

/** The weight of each of so many SRV records (RFC 2782): they are equal, share 100, and none is 0. */
export function srvWeight(count: number): number {
  return Math.max(1, Math.floor(100 / count));
}
