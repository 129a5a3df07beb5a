import type { ReverseSegment } from "../../zone/segment/reverse-segment.ts";
import type { Segment } from "../../zone/segment/segment.ts";

/** The content of a directory: segments of names, or of reverse names. */
export type AnySegment = Segment | ReverseSegment;
