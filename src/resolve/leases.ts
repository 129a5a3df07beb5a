import type { Leased } from "../zone/world.ts";

/** When leases expire. */
export interface Leases {
  /** For each lease group of a segment, the Unix milliseconds at which the first lease of its clusters expires; Infinity for none. */
  of(segment: Leased): Float64Array;
}
