import type { SegmentTables } from "../layout.ts";

/** Bytes with names of keys: a segment, or the builder of one key. */
export interface BlockSource extends SegmentTables {
  /** Offsets of its heap count from their start. */
  readonly bytes: Uint8Array;
  /** `NODE_WORDS` for each node. */
  readonly nodes: Uint32Array;
}

/** Where the names of a key are. Empty ranges for a key without names. */
export interface KeyRange {
  readonly firstNode: number;
  readonly nodeEnd: number;
  readonly heapStart: number;
  readonly heapEnd: number;
}

/** The names of a key. */
export interface KeyBlock extends KeyRange {
  readonly source: BlockSource;
}
