import type { HoldSegment } from "../../../zone/compiler/held-block.ts";
import { ReverseSegment } from "../../../zone/segment/reverse-segment.ts";
import { Segment } from "../../../zone/segment/segment.ts";
import { sharedBytes } from "./shared-bytes.ts";

/** Holds compiled segments in the directory, with shared bytes. */
export const holdShared: HoldSegment = (segment) => {
  const { hash } = segment;
  const bytes = sharedBytes(segment.bytes);
  const held =
    segment instanceof Segment ? Segment.trusted(bytes, hash) : ReverseSegment.trusted(bytes, hash);
  return held as never;
};
