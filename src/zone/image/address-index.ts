import { hashAddress, spread } from "./name-hash.ts";

const FIRST_ENTRIES = 1 << 10;
/** Bytes kept for each address: its length, then the longest address. */
const ENTRY_BYTES = 17;

/** Numbers addresses from 0, in the order in which they come. */
export class AddressIndex {
  #addresses = new Uint8Array(FIRST_ENTRIES * ENTRY_BYTES);
  /** Entry + 1, or 0. */
  #slots = new Uint32Array(FIRST_ENTRIES * 2);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The entry of an address; -1 where it has none. */
  find(octets: Uint8Array): number {
    return this.#slots[this.#slotOf(octets)]! - 1;
  }

  /** The entry of an address, which it gets where it has none. */
  entryOf(octets: Uint8Array): number {
    const slot = this.#slotOf(octets);
    if (this.#slots[slot] !== 0) return this.#slots[slot]! - 1;
    const entry = this.#count++;
    if (entry * ENTRY_BYTES === this.#addresses.length) this.#addresses = grown(this.#addresses);
    this.#addresses[entry * ENTRY_BYTES] = octets.length;
    this.#addresses.set(octets, entry * ENTRY_BYTES + 1);
    this.#slots[slot] = entry + 1;
    if (this.#count * 4 > this.#slots.length * 3) this.#growSlots();
    return entry;
  }

  /** The bytes of an address, which are only lent. */
  octetsOf(entry: number): Uint8Array {
    const start = entry * ENTRY_BYTES;
    return this.#addresses.subarray(start + 1, start + 1 + this.#addresses[start]!);
  }

  /** The slot of an address; an empty one where it has no entry. */
  #slotOf(octets: Uint8Array): number {
    const mask = this.#slots.length - 1;
    let slot = spread(hashAddress(octets, 0, octets.length)) & mask;
    for (let entry = this.#slots[slot]!; entry !== 0; entry = this.#slots[slot]!) {
      if (this.#isAddress(entry - 1, octets)) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #isAddress(entry: number, octets: Uint8Array): boolean {
    const start = entry * ENTRY_BYTES;
    if (this.#addresses[start] !== octets.length) return false;
    for (let index = octets.length - 1; index >= 0; index--)
      if (this.#addresses[start + 1 + index] !== octets[index]) return false;
    return true;
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

/** A table of twice the length with the same beginning. */
export function grown<Table extends Uint8Array | Uint16Array | Uint32Array | Float64Array>(
  table: Table,
): Table {
  const larger = new (table.constructor as new (length: number) => Table)(table.length * 2);
  larger.set(table);
  return larger;
}
