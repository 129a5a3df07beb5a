import { MOST_PROBES, SLOT_ENTRY } from "./layout.ts";

/** The slots of a segment, with the seed of the hashes by which they are taken. */
export interface SeededSlots {
  readonly slots: Uint32Array;
  readonly seed: number;
}

/** Takes the first free slot for an entry; false if there is none among those that a search looks at. */
export function takeSlot(slots: Uint32Array, hash: number, entry: number): boolean {
  const mask = slots.length - 1;
  for (let probe = 0; probe < MOST_PROBES; probe++) {
    const slot = (hash + probe) & mask;
    if (slots[slot] !== 0) continue;
    slots[slot] = (hash & ~SLOT_ENTRY) | entry;
    return true;
  }
  return false;
}

/** Whether a slot may be that of a name or address with a hash. */
export function mayHave(slot: number, hash: number): boolean {
  return (slot ^ hash) >>> 24 === 0;
}
