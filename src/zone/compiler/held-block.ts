import type { Branch } from "../generation/directory.ts";
import type { KeyRange } from "../segment/blocks/key-block.ts";
import type { ReverseSegment } from "../segment/reverse-segment.ts";
import type { Segment } from "../segment/segment.ts";

/** Takes a segment that was compiled. @returns the branch by which a directory refers to it: the segment itself, or a branch that reads it where it is held */
export type HoldSegment = <Content extends Segment | ReverseSegment>(segment: Content) => Branch<Content>;

/** A segment is its own branch: the directory holds it in memory. */
export const holdInBranch: HoldSegment = (segment) => segment as never;

/** Where the names of a key are in a segment, which need not be in memory. */
export interface HeldBlock extends KeyRange {
  readonly branch: Branch<Segment>;
}
