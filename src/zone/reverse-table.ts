import type { HeapWriter } from "./heap-writer.ts";
import { hashAddress, spread } from "./name-hash.ts";

const FIRST_ENTRIES = 1 << 10;
/** Bytes for each address: its length, then room for the longest address. */
const ENTRY_BYTES = 17;
/** The most targets of one address. */
const MAX_TARGETS = 0xffff;
/** Words of one target: asker, TTL index, lease group, node, index + 1 of the next one. */
const TARGET_WORDS = 5;

/** A PTR target of an address, before it is packed. */
export interface ReverseTarget {
  readonly asker: number;
  readonly ttl: number;
  readonly leaseGroup: number;
  readonly node: number;
  /** From when whoever told it has it, in Unix milliseconds. Default: from ever. */
  readonly since?: number | undefined;
}

/** The addresses with their PTR targets while an image is built. */
export class ReverseTable {
  #addresses = new Uint8Array(FIRST_ENTRIES * ENTRY_BYTES);
  /** By address: index + 1 of its first target, and how many there are. */
  #first = new Uint32Array(FIRST_ENTRIES);
  #targetCount = new Uint16Array(FIRST_ENTRIES);
  #slots = new Uint32Array(FIRST_ENTRIES * 2);
  #count = 0;
  #targets = new Uint32Array(FIRST_ENTRIES * TARGET_WORDS);
  #since = new Float64Array(FIRST_ENTRIES);
  #targetsUsed = 0;

  /**
   * Adds a target. For an address and asker the oldest wins, then the first (specification 2.3.3: one PTR per address): who comes
   * later cannot take the reverse name of somebody's address.
   */
  add(octets: Uint8Array, target: ReverseTarget): void {
    const since = target.since ?? Number.NEGATIVE_INFINITY;
    const entry = this.#entryOf(octets);
    let last = -1;
    for (let next = this.#first[entry]!; next !== 0; next = this.#targets[last + 4]!) {
      last = (next - 1) * TARGET_WORDS;
      if (this.#targets[last] !== target.asker) continue;
      if (since < this.#since[next - 1]!) this.#set(next - 1, target, since);
      return;
    }
    if (this.#targetCount[entry] === MAX_TARGETS) return;
    const at = this.#targetsUsed * TARGET_WORDS;
    if (at === this.#targets.length) {
      this.#targets = grown(this.#targets);
      this.#since = grown(this.#since);
    }
    this.#set(this.#targetsUsed, target, since);
    this.#targetsUsed++;
    this.#targetCount[entry]!++;
    if (last < 0) this.#first[entry] = this.#targetsUsed;
    else this.#targets[last + 4] = this.#targetsUsed;
  }

  #set(index: number, { asker, ttl, leaseGroup, node }: ReverseTarget, since: number): void {
    const at = index * TARGET_WORDS;
    this.#targets[at] = asker;
    this.#targets[at + 1] = ttl;
    this.#targets[at + 2] = leaseGroup;
    this.#targets[at + 3] = node;
    this.#since[index] = since;
  }

  /** Writes the reverse entries to the heap; gives back the hash table of their offsets. */
  write(heap: HeapWriter): Uint32Array {
    let size = 4;
    while (size * 3 < this.#count * 4) size *= 2;
    const slots = new Uint32Array(size);
    const addresses = this.#addresses;
    for (let entry = 0; entry < this.#count; entry++) {
      const start = entry * ENTRY_BYTES;
      const length = addresses[start]!;
      let slot = spread(hashAddress(addresses, start + 1, length)) & (size - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
      slots[slot] = heap.length;
      heap.writeOctets(addresses.subarray(start, start + 1 + length));
      heap.writeCount(this.#targetCount[entry]!);
      this.#writeTargets(heap, this.#first[entry]!);
    }
    return slots;
  }

  #writeTargets(heap: HeapWriter, first: number): void {
    const targets = this.#targets;
    for (let next = first; next !== 0; ) {
      const at = (next - 1) * TARGET_WORDS;
      heap.write16(targets[at]!);
      heap.write8(targets[at + 1]!);
      heap.write16(targets[at + 2]!);
      heap.write32(targets[at + 3]!);
      next = targets[at + 4]!;
    }
  }

  #entryOf(octets: Uint8Array): number {
    const mask = this.#slots.length - 1;
    let slot = spread(hashAddress(octets, 0, octets.length)) & mask;
    for (let entry = this.#slots[slot]!; entry !== 0; entry = this.#slots[slot]!) {
      if (this.#isAddress(entry - 1, octets)) return entry - 1;
      slot = (slot + 1) & mask;
    }
    if (this.#count === this.#first.length) this.#growEntries();
    const entry = this.#count++;
    this.#addresses[entry * ENTRY_BYTES] = octets.length;
    this.#addresses.set(octets, entry * ENTRY_BYTES + 1);
    this.#slots[slot] = entry + 1;
    if (this.#count * 4 > this.#slots.length * 3) this.#growSlots();
    return entry;
  }

  #isAddress(entry: number, octets: Uint8Array): boolean {
    const start = entry * ENTRY_BYTES;
    if (this.#addresses[start] !== octets.length) return false;
    for (let index = octets.length - 1; index >= 0; index--)
      if (this.#addresses[start + 1 + index] !== octets[index]) return false;
    return true;
  }

  #growEntries(): void {
    this.#addresses = grown(this.#addresses);
    this.#first = grown(this.#first);
    this.#targetCount = grown(this.#targetCount);
  }

  #growSlots(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let entry = 0; entry < this.#count; entry++) {
      const start = entry * ENTRY_BYTES;
      let slot = spread(hashAddress(this.#addresses, start + 1, this.#addresses[start]!)) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry + 1;
    }
    this.#slots = slots;
  }
}

function grown<Table extends Uint8Array | Uint16Array | Uint32Array | Float64Array>(table: Table): Table {
  const larger = new (table.constructor as new (length: number) => Table)(table.length * 2);
  larger.set(table);
  return larger;
}
