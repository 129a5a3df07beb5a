import type { LeaseMemo } from "../zone/segment/segment.ts";

/** What has lease groups: a segment. */
export interface Leased {
  /** The cluster ids on which the records of each lease group depend; group 0 depends on none. */
  readonly leaseGroups: readonly (readonly string[])[];
  /** The table that was used last. */
  leaseMemo?: LeaseMemo | undefined;
}

/** When leases expire. */
export interface Leases {
  /** For each lease group of a segment, the Unix milliseconds at which the first lease of its clusters expires; Infinity for none. */
  of(segment: Leased): Float64Array;
}
