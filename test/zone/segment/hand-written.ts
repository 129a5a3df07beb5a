import { expect, it } from "vitest";
import { FormatError } from "../../../src/zone/segment/blob.ts";
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

/** The heap of a segment, from its first byte on. */
export type Heap = readonly number[];
export type Accepted = readonly [claim: string, heap: Heap, around?: Around];
export type Rejected = readonly [claim: string, heap: Heap, message: string, around?: Around];

/** Tests that each case loads with as many names or addresses as it has. */
export function itIsLoadedWith(
  cases: readonly Accepted[],
  load: (heap: Heap, around: Around) => Iterable<unknown>,
): void {
  it.each(cases.map(([claim, heap, around = {}]) => [claim, heap, around] as const))(
    "is loaded with %s",
    (_, heap, around) => {
      expect([...load(heap, around)]).toHaveLength(around.names ?? 1);
    },
  );
}

/** Tests that each case is rejected, with its message. */
export function itIsRejectedWith(
  cases: readonly Rejected[],
  load: (heap: Heap, around: Around) => unknown,
): void {
  it.each(cases.map(([claim, heap, message, around = {}]) => [claim, heap, message, around] as const))(
    "is rejected with %s",
    (_, heap, message, around) => {
      expect(() => load(heap, around)).toThrow(FormatError);
      expect(() => load(heap, around)).toThrow(message);
    },
  );
}
