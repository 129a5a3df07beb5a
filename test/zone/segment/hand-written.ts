import { BlobKind, HEAP_START, type SegmentTables } from "../../../src/zone/segment/layout.ts";
import { packSegment } from "../../../src/zone/segment/table-builder.ts";

/** What a hand-written segment has besides its heap; see `handWritten`. */
export interface Around {
  readonly names?: number;
  /** The terms, each as its bytes. Default: one, all of whose bytes are 0. */
  readonly terms?: readonly (readonly number[])[];
  /** Default: one for the first name or entry, and an empty one. */
  readonly slots?: readonly number[];
  readonly tables?: Partial<SegmentTables>;
}

/** A segment with this heap, whose slots have no bits of hashes. Nothing in it is checked. */
export function handWritten(
  kind: "segment" | "reverse",
  heap: readonly number[],
  { names = 1, terms, slots = [HEAP_START, 0], tables }: Around = {},
): Uint8Array<ArrayBuffer> {
  const termsBytes = kind === "segment" ? 6 : 8;
  const allTerms = terms ?? [Array.from({ length: termsBytes }, () => 0)];
  return packSegment(BlobKind[kind], {
    heap: Uint8Array.from([...new Array<number>(HEAP_START).fill(0), ...heap]),
    ...{ names, termsBytes },
    terms: Uint8Array.from(allTerms.flat()),
    slots: {
      slots: Uint8Array.from(slots.flatMap((slot) => [slot, slot >> 8, slot >> 16])),
      ...{ count: slots.length, seed: 0 },
    },
    tables: { trees: ["clusterset"], views: [], leaseGroups: [[]], ...tables },
  });
}

/** Labels of so many bytes together with their length bytes. */
export function labelsOfBytes(bytes: number): number[] {
  const labels: number[] = [];
  for (let left = bytes; left > 0; ) {
    // One byte alone would be an empty label.
    const taken = left === 65 ? 63 : Math.min(64, left);
    labels.push(taken - 1, ...new Array<number>(taken - 1).fill(0x61));
    left -= taken;
  }
  return labels;
}
