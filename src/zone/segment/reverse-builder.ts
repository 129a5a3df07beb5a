import { addressLabel } from "../kinds/service-labels.ts";
import { CapacityError } from "./blob.ts";
import { HeapWriter } from "./heap-writer.ts";
import { ADDRESS_LABEL, ANY_ASKER, BlobKind, SLOT_ENTRY } from "./layout.ts";
import { hashAddress } from "./name-hash.ts";
import { packSegment, TableBuilder } from "./segment-builder.ts";
import { type SeededSlots, takeSlot } from "./slots.ts";
import type { TreeKey } from "./tree-key.ts";

const NO_NODES = new Uint32Array();

/** A PTR target of an address. */
export interface ReverseTarget {
  /** The name of the view that has it; undefined for all views without one of their own. */
  readonly view: string | undefined;
  /** In seconds. */
  readonly ttl: number;
  /** The clusters on whose leases it depends. */
  readonly clusters: readonly string[];
  readonly tree: TreeKey;
  /** The first label of its name; undefined for the address with dashes. */
  readonly label: string | undefined;
  /** The other labels, the leftmost first. */
  readonly above: readonly string[];
}

/** An address with its targets, at most one for each view. */
export interface ReverseEntry {
  readonly octets: Uint8Array;
  readonly targets: readonly ReverseTarget[];
}

/** The bytes of a reverse segment. Equal entries in the same order give equal bytes. */
export function buildReverseSegment(
  entries: readonly ReverseEntry[],
  trees: readonly TreeKey[],
): Uint8Array<ArrayBuffer> {
  const heap = new HeapWriter();
  const tables = new TableBuilder(trees);
  const offsets: number[] = [];
  for (const { octets, targets } of entries) {
    offsets.push(heap.length);
    heap.write8(octets.length);
    heap.writeBytes(octets);
    heap.writeCount(targets.length);
    const derived = addressLabel(octets);
    for (const target of targets) writeTarget(heap, tables, target, derived);
  }
  if (heap.length > SLOT_ENTRY) throw new CapacityError(`a reverse segment has at most ${SLOT_ENTRY} bytes`);
  return packSegment(BlobKind.reverse, heap, NO_NODES, place(entries, offsets), tables.finish());
}

/** Slots with the first seed with which a search finds every address. */
function place(entries: readonly ReverseEntry[], offsets: readonly number[]): SeededSlots {
  let size = 4;
  while (size < entries.length * 2) size *= 2;
  // Seed 0 selected the segment: its addresses have hashes with equal bits.
  for (let seed = 1; ; seed++) {
    const slots = new Uint32Array(size);
    if (
      entries.every(({ octets }, index) =>
        takeSlot(slots, hashAddress(octets, octets.length, seed), offsets[index]!),
      )
    )
      return { slots, seed };
  }
}

function writeTarget(
  heap: HeapWriter,
  tables: TableBuilder,
  { view, ttl, clusters, tree, label, above }: ReverseTarget,
  derived: string,
): void {
  const isDerived = label === undefined || label === derived;
  const written = isDerived ? above : [label, ...above];
  heap.write16(view === undefined ? ANY_ASKER : tables.view(view) + 1);
  heap.write32(ttl);
  heap.write16(tables.leaseGroup(clusters));
  heap.write16(tables.tree(tree) | (isDerived ? ADDRESS_LABEL : 0));
  heap.write8(written.reduce((sum, label) => sum + 1 + label.length, 0));
  for (const label of written) {
    heap.write8(label.length);
    heap.writeAscii(label);
  }
}
