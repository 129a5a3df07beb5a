import type { HoldSegment } from "../../src/zone/compiler/held-block.ts";
import { type Blob, RememberedBranch } from "../../src/zone/generation/directory.ts";
import { ReverseSegment } from "../../src/zone/segment/reverse-segment.ts";
import { Segment } from "../../src/zone/segment/segment.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Segments that are nowhere but here, as bytes, and loaded from them each time. A row that is lost is no part of `bytes` any more. */
export function segmentsElsewhere(): { readonly bytes: Map<string, Bytes>; readonly hold: HoldSegment } {
  const bytes = new Map<string, Bytes>();
  const memoryOf = <Content extends Blob>(load: (bytes: Bytes, hash: string) => Content) => ({
    get: (hash: string) => {
      const kept = bytes.get(hash);
      return kept && load(kept, hash);
    },
    add() {},
  });
  const hold: HoldSegment = (segment) => {
    bytes.set(segment.hash, segment.bytes.slice());
    const memory = segment instanceof Segment ? memoryOf(Segment.load) : memoryOf(ReverseSegment.load);
    return new RememberedBranch(segment.hash, memory as never, segment.bytes.length);
  };
  return { bytes, hold };
}
