import type { SegmentTables } from "../layout.ts";
import type { Terms } from "../table-builder.ts";

/** Bytes with names of keys: a segment, or the names of one key. */
export interface BlockSource extends SegmentTables {
  /** Offsets of its heap count from their start. */
  readonly bytes: Uint8Array;
  readonly terms: readonly Terms[];
}

/** Where the names of a key are. An empty range for a key without names. */
export interface KeyRange {
  readonly start: number;
  readonly end: number;
}

/** The names of a key. */
export interface KeyBlock extends KeyRange {
  readonly source: BlockSource;
}
