import { CapacityError } from "./blob.ts";
import { MOST_HEAP_BYTES, MOST_PROBES } from "./layout.ts";

/*
 * Slots of a segment: a hash table from names or addresses to offsets in its heap. A slot has as many bits as offsets need, and a part of the hash
 * in the bits above, so that other names are seldom compared. The highest 24 bits of a hash select the first slot, the lowest ones are in it.
 */

/** The slots of a segment, with the seed of the hashes by which they are taken. */
export interface SeededSlots {
  readonly slots: Uint8Array;
  readonly count: number;
  readonly seed: number;
}

/** Bytes of a slot. @param heapEnd where the heap ends */
export function slotBytes(heapEnd: number): 3 | 4 {
  return heapEnd < 1 << 16 ? 3 : 4;
}

/** The bits of a slot that are an offset. */
export function offsetBits(heapEnd: number): number {
  return 32 - Math.clz32(heapEnd);
}

/** How many slots there are for so many entries: two thirds of them are taken. */
export function slotCount(entries: number): number {
  return entries + (entries >> 1) + 1;
}

/** The first slot of a hash. */
export function firstSlot(hash: number, count: number): number {
  return ((hash >>> 8) * count * 2 ** -24) | 0;
}

/** Reads a slot of `width` bytes. */
export function readSlot(bytes: Uint8Array, at: number, width: number): number {
  const low = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
  return width === 3 ? low : low | (bytes[at + 3]! << 24);
}

/** Slots while they are taken. */
export class SlotBuilder {
  readonly count: number;
  readonly bytes: Uint8Array;
  readonly #width: 3 | 4;
  readonly #bits: number;

  /** @throws {CapacityError} if the heap is too long for offsets in slots */
  constructor(entries: number, heapEnd: number) {
    if (heapEnd > MOST_HEAP_BYTES)
      throw new CapacityError(`the heap of a segment has at most ${MOST_HEAP_BYTES} bytes`);
    this.count = slotCount(entries);
    this.#width = slotBytes(heapEnd);
    this.#bits = offsetBits(heapEnd);
    this.bytes = new Uint8Array(this.count * this.#width);
  }

  /** Takes the first free slot for an offset; false if there is none among those that a search looks at. */
  take(hash: number, offset: number): boolean {
    const { bytes, count } = this;
    const width = this.#width;
    let slot = firstSlot(hash, count);
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const at = slot * width;
      if (readSlot(bytes, at, width) === 0) {
        const value = (hash << this.#bits) | offset;
        for (let byte = 0; byte < width; byte++) bytes[at + byte] = value >>> (8 * byte);
        return true;
      }
      slot = slot + 1 === count ? 0 : slot + 1;
    }
    return false;
  }
}
