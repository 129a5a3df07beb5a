import { addressLabel } from "../kinds/service-labels.ts";
import type { Pace } from "../pace.ts";
import { CapacityError } from "../segment/blob.ts";
import { HeapWriter } from "../segment/heap-writer.ts";
import {
  ADDRESS_LABEL,
  ANY_VIEW,
  BlobKind,
  type SegmentTables,
  SLOT_ENTRY,
  TargetField,
} from "../segment/layout.ts";
import { hashAddress } from "../segment/name-hash.ts";
import { read16 } from "../segment/record-block.ts";
import { type ReverseSegment, targetEnd } from "../segment/reverse-segment.ts";
import { packSegment, TableBuilder } from "../segment/segment-builder.ts";
import { type SeededSlots, takeSlot } from "../segment/slots.ts";
import type { TreeKey } from "../segment/tree-key.ts";

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

/** The indices of another segment's tables here; undefined for those that were not needed yet. */
interface Indices {
  readonly views: number[];
  readonly leaseGroups: number[];
  readonly trees: number[];
}

/** Writes the bytes of a reverse segment. Equal entries in the same order give equal bytes, whether they are written or copied. */
export class ReverseBuilder {
  readonly #heap: HeapWriter;
  readonly #tables: TableBuilder;
  readonly #entries: number[] = [];
  readonly #indices = new Map<ReverseSegment, Indices>();

  /** @param trees their keys, in the order of their indices @param bytes how many it will probably have */
  constructor(trees: readonly TreeKey[], bytes?: number) {
    this.#heap = new HeapWriter(bytes);
    this.#tables = new TableBuilder(trees);
  }

  /** Adds an address with its targets, at most one for each view. */
  write(bytes: Uint8Array, targets: readonly ReverseTarget[]): void {
    const heap = this.#heap;
    this.#entries.push(heap.length);
    heap.write8(bytes.length);
    heap.writeBytes(bytes);
    heap.writeCount(targets.length);
    for (const target of targets) this.#writeTarget(target, bytes);
  }

  #writeTarget({ view, ttl, clusters, tree, label, above }: ReverseTarget, bytes: Uint8Array): void {
    const heap = this.#heap;
    const tables = this.#tables;
    const isDerived = label === undefined || label === addressLabel(bytes);
    let labelBytes = isDerived ? 0 : 1 + label.length;
    for (const one of above) labelBytes += 1 + one.length;
    heap.write16(view === undefined ? ANY_VIEW : tables.view(view) + 1);
    heap.write32(ttl);
    heap.write16(tables.leaseGroup(clusters));
    heap.write16(tables.tree(tree) | (isDerived ? ADDRESS_LABEL : 0));
    heap.write8(labelBytes);
    if (!isDerived) heap.writeLabel(label);
    for (const one of above) heap.writeLabel(one);
  }

  /** Adds the address of an entry of another segment with its targets. */
  copy(from: ReverseSegment, entry: number): void {
    const heap = this.#heap;
    const at = heap.length;
    const end = from.entryEnd(entry);
    this.#entries.push(at);
    heap.writeRange(from.bytes, entry, end);
    const indices = this.#indicesOf(from);
    for (let target = from.firstTarget(entry); target < end; target = targetEnd(from.bytes, target))
      this.#renumber(from, indices, target, at + target - entry);
  }

  /** Writes the indices of a copied target's view, lease group and tree. */
  #renumber(from: ReverseSegment, { views, leaseGroups, trees }: Indices, target: number, at: number): void {
    const heap = this.#heap;
    const tables = this.#tables;
    const viewNumber = read16(from.bytes, target);
    if (viewNumber !== ANY_VIEW) {
      views[viewNumber] ??= tables.view(from.views[viewNumber - 1]!) + 1;
      heap.put16(at, views[viewNumber]);
    }
    const group = read16(from.bytes, target + TargetField.leaseGroup);
    leaseGroups[group] ??= tables.leaseGroup(from.leaseGroups[group]!);
    heap.put16(at + TargetField.leaseGroup, leaseGroups[group]);
    const named = read16(from.bytes, target + TargetField.tree);
    const tree = named & ~ADDRESS_LABEL;
    trees[tree] ??= tables.tree(from.trees[tree]!);
    heap.put16(at + TargetField.tree, trees[tree] | (named & ADDRESS_LABEL));
  }

  #indicesOf(segment: ReverseSegment): Indices {
    const known = this.#indices.get(segment);
    if (known !== undefined) return known;
    const indices = { views: [], leaseGroups: [], trees: [] };
    this.#indices.set(segment, indices);
    return indices;
  }

  /** @throws {CapacityError} if it would have more bytes than its slots can refer to */
  *finish(
    pace: Pace,
  ): Generator<void, { readonly bytes: Uint8Array<ArrayBuffer>; readonly tables: SegmentTables }> {
    const heap = this.#heap;
    if (heap.length > SLOT_ENTRY)
      throw new CapacityError(`a reverse segment has at most ${SLOT_ENTRY} bytes`);
    const tables = this.#tables.finish();
    return { bytes: packSegment(BlobKind.reverse, heap, NO_NODES, yield* this.#place(pace), tables), tables };
  }

  /** Slots with the first seed with which a search finds every address. */
  *#place(pace: Pace): Generator<void, SeededSlots> {
    const entries = this.#entries;
    const { bytes } = this.#heap;
    let size = 4;
    while (size < entries.length * 2) size *= 2;
    // Seed 0 selected the segment: its addresses have hashes with equal bits.
    for (let seed = 1; ; seed++) {
      const slots = new Uint32Array(size);
      const hashOf = (entry: number) => hashAddress(bytes, bytes[entry]!, seed, entry + 1);
      let placed = 0;
      while (placed < entries.length && takeSlot(slots, hashOf(entries[placed]!), entries[placed]!)) {
        placed++;
        if (pace.isOver(1)) yield;
      }
      if (placed === entries.length) return { slots, seed };
    }
  }
}
