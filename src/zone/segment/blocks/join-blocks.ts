import type { Pace } from "../../pace.ts";
import { CapacityError } from "../blob.ts";
import {
  BlobKind,
  HEAP_START,
  MOST_HEAP_BYTES,
  NameForm,
  type SegmentTables,
  SetField,
  TERMS_BYTES,
} from "../layout.ts";
import { apexHash, treeHash } from "../name-hash.ts";
import { countEnd, read16, readCount, setEnd, write16 } from "../record-block.ts";
import { type SeededSlots, SlotBuilder } from "../slots.ts";
import { intern, packSegment, TableBuilder, writeTerms } from "../table-builder.ts";
import type { TreeKey } from "../tree-key.ts";
import type { BlockSource, KeyBlock, KeyRange } from "./key-block.ts";
import { hashRun } from "./label-run.ts";
import { distanceToParent, isTop, runEnd, runOf, treeOfTop } from "./names.ts";

/** The bytes of a segment, with what is known of them. */
export interface JoinedBlocks {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly tables: SegmentTables;
  /** Where each block is in it. */
  readonly ranges: readonly KeyRange[];
}

/**
 * Joins the names of keys, in the order of the blocks, to a segment. It copies bytes and changes the indices of tables in them, so a key that did not
 * change is copied from the segment before; equal blocks give equal bytes, wherever they come from.
 * @param ordered all trees in which they have names, in the order of their indices; default: sorted
 * @throws {CapacityError} if they have more bytes than a segment holds
 */
export function* joinBlocks(
  blocks: readonly KeyBlock[],
  pace: Pace,
  ordered?: readonly TreeKey[],
): Generator<void, JoinedBlocks> {
  const joining = new Joining(blocks);
  const ranges: KeyRange[] = [];
  for (const block of blocks) ranges.push(yield* joining.copy(block, pace));
  const { heap, names } = joining;
  const trees = joining.orderTrees(ordered);
  const slots = yield* placeNames(heap, trees, names, pace);
  const terms = writeTerms(joining.tables.termsList);
  const tables = { ...joining.tables.finish(), trees };
  const bytes = packSegment(BlobKind.segment, {
    ...{ heap, names: names.length, slots, tables },
    ...{ terms, termsBytes: TERMS_BYTES },
  });
  return { bytes, tables, ranges };
}

/** The indices in a segment of what a source has in its tables; -1 for what no block has used yet. */
interface Renumbering {
  readonly views: Int32Array;
  readonly terms: Int32Array;
}

class Joining {
  readonly tables = new TableBuilder([]);
  readonly heap: Uint8Array<ArrayBuffer>;
  /** The offsets of the names that were copied. */
  readonly names: number[] = [];
  readonly #trees = new Map<TreeKey, number>();
  /** The offsets of names below apexes. */
  readonly #tops: number[] = [];
  readonly #renumberings = new Map<BlockSource, Renumbering>();
  #heapAt = HEAP_START;

  constructor(blocks: readonly KeyBlock[]) {
    const heapBytes = blocks.reduce((sum, { start, end }) => sum + end - start, HEAP_START);
    if (heapBytes > MOST_HEAP_BYTES)
      throw new CapacityError(`the heap of a segment has at most ${MOST_HEAP_BYTES} bytes`);
    this.heap = new Uint8Array(heapBytes);
  }

  *copy({ source, start, end }: KeyBlock, pace: Pace): Generator<void, KeyRange> {
    const { heap } = this;
    const first = this.#heapAt;
    const last = first + end - start;
    heap.set(source.bytes.subarray(start, end), first);
    const renumbering = this.#renumberingOf(source);
    for (let name = first; name < last; ) {
      this.names.push(name);
      if (isTop(heap, name)) this.#renumberTop(name, source);
      const next = this.#renumberBlock(name, source, renumbering);
      // Sixteen bytes are as much work as a name.
      if (pace.isOver(1 + ((next - name) >> 4))) yield;
      name = next;
    }
    this.#heapAt = last;
    return { start: first, end: last };
  }

  /** Trees are counted in the order of first use until all names are copied. */
  #renumberTop(name: number, source: BlockSource): void {
    const tree = intern(this.#trees, source.trees[treeOfTop(this.heap, name)]!, "trees");
    write16(this.heap, name + 1, tree);
    this.#tops.push(name);
  }

  /** Gives trees their indices. @returns them in their order */
  orderTrees(ordered: readonly TreeKey[] | undefined): readonly TreeKey[] {
    const { heap } = this;
    const used = [...this.#trees.keys()];
    const sorted = ordered ?? used.toSorted();
    const indices = used.map((tree) => sorted.indexOf(tree));
    for (const top of this.#tops) write16(heap, top + 1, indices[treeOfTop(heap, top)]!);
    return sorted;
  }

  #renumberingOf(source: BlockSource): Renumbering {
    const known = this.#renumberings.get(source);
    if (known !== undefined) return known;
    const renumbering = {
      views: new Int32Array(source.views.length).fill(-1),
      terms: new Int32Array(source.terms.length).fill(-1),
    };
    this.#renumberings.set(source, renumbering);
    return renumbering;
  }

  /** Renumbers views and terms of a name that was copied. @returns the offset after it */
  #renumberBlock(name: number, source: BlockSource, renumbering: Renumbering): number {
    const { heap } = this;
    const { views } = renumbering;
    const block = runEnd(heap, name);
    const form = heap[name]!;
    if ((form & NameForm.records) === 0) return block;
    let at = this.#renumberList(block, source, renumbering);
    if ((form & NameForm.variants) === 0) return at;
    let left = readCount(heap, at);
    at = countEnd(heap, at);
    for (; left > 0; left--) {
      const view = read16(heap, at);
      if (views[view]! < 0) views[view] = this.tables.view(source.views[view]!);
      write16(heap, at, views[view]!);
      at = this.#renumberList(at + 2, source, renumbering);
    }
    return at;
  }

  /** @returns the offset after the set list */
  #renumberList(list: number, source: BlockSource, { terms }: Renumbering): number {
    const { heap, tables } = this;
    let set = list + 1;
    for (let left = heap[list]!; left > 0; left--) {
      const own = read16(heap, set + SetField.terms);
      if (terms[own]! < 0) {
        const { ttl, leaseGroup } = source.terms[own]!;
        terms[own] = tables.terms(ttl, tables.leaseGroup(source.leaseGroups[leaseGroup]!));
      }
      write16(heap, set + SetField.terms, terms[own]!);
      set = setEnd(heap, set);
    }
    return set;
  }
}

/** Slots for all names, hashed with the first seed with which a search finds each of them. */
function* placeNames(
  heap: Uint8Array,
  trees: readonly TreeKey[],
  names: readonly number[],
  pace: Pace,
): Generator<void, SeededSlots> {
  // By a quarter of a name's offset: no name is shorter than 4 bytes.
  const hashes = new Int32Array((heap.length >> 2) + 1);
  for (let seed = 0; ; seed++) {
    const apexes = trees.map((tree) => apexHash(treeHash(tree), seed));
    const slots = new SlotBuilder(names.length, heap.length);
    let placed = 0;
    for (; placed < names.length; placed++) {
      const name = names[placed]!;
      const parent = isTop(heap, name)
        ? apexes[treeOfTop(heap, name)]!
        : hashes[(name - distanceToParent(heap, name)) >> 2]!;
      const hash = hashRun(parent, heap, runOf(heap, name));
      hashes[name >> 2] = hash;
      if (!slots.take(hash, name)) break;
      if (pace.isOver(1)) yield;
    }
    if (placed === names.length) return { slots: slots.bytes, count: slots.count, seed };
  }
}
