import { addressLabel } from "../kinds/service-labels.ts";
import type { Pace } from "../pace.ts";
import { HeapWriter } from "../segment/heap-writer.ts";
import {
  ANY_VIEW,
  BlobKind,
  REVERSE_TERMS_BYTES,
  type SegmentTables,
  TargetField,
  TargetForm,
} from "../segment/layout.ts";
import { hashAddress } from "../segment/name-hash.ts";
import { read16, write16, write32 } from "../segment/record-block.ts";
import { type ReverseSegment, targetEnd } from "../segment/reverse-segment.ts";
import { type SeededSlots, SlotBuilder } from "../segment/slots.ts";
import { intern, packSegment, TableBuilder } from "../segment/table-builder.ts";
import type { TreeKey } from "../segment/tree-key.ts";

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

/** View, TTL and tree of targets, with their indices in the tables. */
interface ReverseTerms {
  /** `ANY_VIEW`, or an index and 1. */
  readonly view: number;
  readonly ttl: number;
  readonly tree: number;
}

/** The indices of another segment's terms and lease groups here; undefined for those that were not needed yet. */
interface Indices {
  readonly terms: number[];
  readonly leaseGroups: number[];
}

/** Writes the bytes of a reverse segment. Equal entries in the same order give equal bytes, whether they are written or copied. */
export class ReverseBuilder {
  readonly #heap: HeapWriter;
  readonly #tables: TableBuilder;
  readonly #entries: number[] = [];
  readonly #indices = new Map<ReverseSegment, Indices>();
  readonly #terms = new Map<string, number>();
  readonly #termsList: ReverseTerms[] = [];

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
    const isAddress = label === undefined || label === addressLabel(bytes);
    const skipped = clusters.length === 1 ? clusterLabels(clusters[0]!, above) : 0;
    let labelBytes = isAddress ? 0 : 1 + label.length;
    for (let index = skipped; index < above.length; index++) labelBytes += 1 + above[index]!.length;
    heap.write16(this.#termsOf(view, ttl, tree));
    heap.write16(this.#tables.leaseGroup(clusters));
    heap.write8((isAddress ? TargetForm.address : 0) | (skipped > 0 ? TargetForm.cluster : 0));
    heap.write8(labelBytes);
    if (!isAddress) heap.writeLabel(label);
    for (let index = skipped; index < above.length; index++) heap.writeLabel(above[index]!);
  }

  #termsOf(viewName: string | undefined, ttl: number, key: TreeKey): number {
    const view = viewName === undefined ? ANY_VIEW : this.#tables.view(viewName) + 1;
    const tree = this.#tables.tree(key);
    const index = intern(this.#terms, `${view} ${ttl} ${tree}`, "terms of targets");
    if (index === this.#termsList.length) this.#termsList.push({ view, ttl, tree });
    return index;
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

  /** Writes the indices of a copied target's terms and lease group. */
  #renumber(from: ReverseSegment, { terms, leaseGroups }: Indices, target: number, at: number): void {
    const heap = this.#heap;
    const own = read16(from.bytes, target);
    if (terms[own] === undefined) {
      const view = from.viewOf(target);
      const viewName = view === ANY_VIEW ? undefined : from.views[view - 1]!;
      terms[own] = this.#termsOf(viewName, from.ttlOf(target), from.treeOf(target));
    }
    heap.put16(at, terms[own]);
    const group = from.leaseGroupOf(target);
    leaseGroups[group] ??= this.#tables.leaseGroup(from.leaseGroups[group]!);
    heap.put16(at + TargetField.leaseGroup, leaseGroups[group]);
  }

  #indicesOf(segment: ReverseSegment): Indices {
    const known = this.#indices.get(segment);
    if (known !== undefined) return known;
    const indices = { terms: [], leaseGroups: [] };
    this.#indices.set(segment, indices);
    return indices;
  }

  /** @throws {CapacityError} if it would have more bytes than a segment holds */
  *finish(
    pace: Pace,
  ): Generator<void, { readonly bytes: Uint8Array<ArrayBuffer>; readonly tables: SegmentTables }> {
    const tables = this.#tables.finish();
    const slots = yield* this.#place(pace);
    const bytes = packSegment(BlobKind.reverse, {
      ...{ heap: this.#heap.bytes, names: this.#entries.length, slots, tables },
      ...{ terms: this.#writeTerms(), termsBytes: REVERSE_TERMS_BYTES },
    });
    return { bytes, tables };
  }

  #writeTerms(): Uint8Array {
    const bytes = new Uint8Array(this.#termsList.length * REVERSE_TERMS_BYTES);
    for (const [index, { view, ttl, tree }] of this.#termsList.entries()) {
      const at = index * REVERSE_TERMS_BYTES;
      write16(bytes, at, view);
      write32(bytes, at + 2, ttl);
      write16(bytes, at + 6, tree);
    }
    return bytes;
  }

  /** Slots with the first seed with which a search finds every address. */
  *#place(pace: Pace): Generator<void, SeededSlots> {
    const entries = this.#entries;
    const { bytes } = this.#heap;
    // Seed 0 selected the segment: its addresses have hashes with equal bits.
    for (let seed = 1; ; seed++) {
      const slots = new SlotBuilder(entries.length, bytes.length);
      const hashOf = (entry: number) => hashAddress(bytes, bytes[entry]!, seed, entry + 1);
      let placed = 0;
      while (placed < entries.length && slots.take(hashOf(entries[placed]!), entries[placed]!)) {
        placed++;
        if (pace.isOver(1)) yield;
      }
      if (placed === entries.length) return { slots: slots.bytes, count: slots.count, seed };
    }
  }
}

/** How many labels above an endpoint are those of a cluster. */
function clusterLabels(clusterId: string, [first, second]: readonly string[]): 0 | 1 | 2 {
  if (first === clusterId) return 1;
  return `${first}.${second}` === clusterId ? 2 : 0;
}
