import { RecordType } from "../dns/codes.ts";
import { fixedDataBytes } from "./record-block.ts";

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

  /** Adds an empty set: a mark for resolve/. */
  addMarker(type: number, ttl: number, leaseGroup: number): void {
    this.#set(type, ttl, leaseGroup);
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
