import { RecordType } from "../../../dns/codes.ts";
import type { Pace } from "../../pace.ts";
import { CapacityError } from "../blob.ts";
import {
  BlobKind,
  HEAP_START,
  NODE_WORDS,
  NodeWord,
  RECORDS_OFFSET,
  SET_HEADER_BYTES,
  type SegmentTables,
  SetField,
  SLOT_ENTRY,
} from "../layout.ts";
import { apexHash, treeHash } from "../name-hash.ts";
import {
  countEnd,
  fixedDataBytes,
  read16,
  read32,
  readCount,
  setEnd,
  write16,
  write32,
} from "../record-block.ts";
import { packSegment, TableBuilder } from "../segment-builder.ts";
import { type SeededSlots, takeSlot } from "../slots.ts";
import type { TreeKey } from "../tree-key.ts";
import type { BlockSource, KeyBlock, KeyRange } from "./key-block.ts";
import { hashRun } from "./label-run.ts";

/** The bytes of a segment, with what is known of them. */
export interface JoinedBlocks {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly tables: SegmentTables;
  /** Where each block is in it. */
  readonly ranges: readonly KeyRange[];
}

/**
 * Joins the names of keys, in the order of the blocks, to a segment. It copies bytes and changes the numbers in them, so a key that did not change is
 * copied from the segment before; equal blocks give equal bytes, wherever they come from.
 * @throws {CapacityError} if there are more names than a segment holds
 */
export function* joinBlocks(blocks: readonly KeyBlock[], pace: Pace): Generator<void, JoinedBlocks> {
  const joining = new Joining(blocks);
  const ranges: KeyRange[] = [];
  for (const block of blocks) ranges.push(yield* joining.copy(block, pace));
  const { heap, nodes, trees } = joining;
  const slots = yield* placeNames(heap, nodes, trees, pace);
  const tables = joining.tables.finish();
  const bytes = packSegment(BlobKind.segment, { bytes: heap, length: heap.length }, nodes, slots, tables);
  return { bytes, tables, ranges };
}

/** The indices in a segment of what a source has in its tables; -1 for what no block has used yet. */
interface Renumbering {
  readonly trees: Int32Array;
  readonly views: Int32Array;
  readonly leaseGroups: Int32Array;
}

class Joining {
  readonly trees: readonly TreeKey[];
  readonly tables: TableBuilder;
  readonly heap: Uint8Array<ArrayBuffer>;
  readonly nodes: Uint32Array;
  readonly #renumberings = new Map<BlockSource, Renumbering>();
  #node: number;
  #heapAt = HEAP_START;

  constructor(blocks: readonly KeyBlock[]) {
    this.trees = treesOf(blocks);
    this.tables = new TableBuilder(this.trees);
    const heapBytes = blocks.reduce((sum, { heapStart, heapEnd }) => sum + heapEnd - heapStart, HEAP_START);
    const nodes = blocks.reduce((sum, { firstNode, nodeEnd }) => sum + nodeEnd - firstNode, 0);
    if (heapBytes > RECORDS_OFFSET || nodes + this.trees.length > SLOT_ENTRY)
      throw new CapacityError(`a segment holds at most ${SLOT_ENTRY} names and ${RECORDS_OFFSET} bytes`);
    this.heap = new Uint8Array(heapBytes);
    this.nodes = new Uint32Array((nodes + this.trees.length) * NODE_WORDS);
    this.#node = this.trees.length;
  }

  *copy(block: KeyBlock, pace: Pace): Generator<void, KeyRange> {
    const { source, firstNode, nodeEnd, heapStart, heapEnd } = block;
    const { nodes } = this;
    const apexes = source.trees.length;
    const first = this.#node;
    const at = this.#heapAt;
    this.heap.set(source.bytes.subarray(heapStart, heapEnd), at);
    const moved = at - heapStart;
    const renumbering = this.#renumberingOf(source);
    for (let node = firstNode; node < nodeEnd; node++) {
      const from = node * NODE_WORDS;
      const to = (node - firstNode + first) * NODE_WORDS;
      const parent = source.nodes[from + NodeWord.parent]!;
      const records = source.nodes[from + NodeWord.records]!;
      nodes[to + NodeWord.parent] = parent < apexes ? renumbering.trees[parent]! : parent - firstNode + first;
      nodes[to + NodeWord.run] = source.nodes[from + NodeWord.run]! + moved;
      const hasRecords = (records & RECORDS_OFFSET) !== 0;
      nodes[to + NodeWord.records] = hasRecords ? records + moved : records;
      const units = hasRecords
        ? this.#renumberBlock((records & RECORDS_OFFSET) + moved, source, renumbering, first - firstNode)
        : 1;
      if (pace.isOver(units)) yield;
    }
    this.#node += nodeEnd - firstNode;
    this.#heapAt += heapEnd - heapStart;
    return { firstNode: first, nodeEnd: this.#node, heapStart: at, heapEnd: this.#heapAt };
  }

  #renumberingOf(source: BlockSource): Renumbering {
    const known = this.#renumberings.get(source);
    if (known !== undefined) return known;
    const renumbering = {
      trees: Int32Array.from(source.trees, (tree) => this.tables.tree(tree)),
      views: new Int32Array(source.views.length).fill(-1),
      leaseGroups: new Int32Array(source.leaseGroups.length).fill(-1),
    };
    this.#renumberings.set(source, renumbering);
    return renumbering;
  }

  /** Renumbers views, lease groups and SRV targets of a record block that was copied. @returns the work in units */
  #renumberBlock(block: number, source: BlockSource, renumbering: Renumbering, nodes: number): number {
    const { heap } = this;
    const { views } = renumbering;
    let at = this.#renumberList(block, source, renumbering, nodes);
    let left = readCount(heap, at);
    at = countEnd(heap, at);
    for (; left > 0; left--) {
      const view = read16(heap, at);
      if (views[view]! < 0) views[view] = this.tables.view(source.views[view]!);
      write16(heap, at, views[view]!);
      at = this.#renumberList(at + 2, source, renumbering, nodes);
    }
    // Eight bytes of records are as much work as a node.
    return 1 + ((at - block) >> 3);
  }

  /** @returns the offset after the set list */
  #renumberList(list: number, source: BlockSource, { leaseGroups }: Renumbering, nodes: number): number {
    const { heap } = this;
    let set = list + 1;
    for (let left = heap[list]!; left > 0; left--) {
      const group = read16(heap, set + SetField.leaseGroup);
      if (leaseGroups[group]! < 0) leaseGroups[group] = this.tables.leaseGroup(source.leaseGroups[group]!);
      write16(heap, set + SetField.leaseGroup, leaseGroups[group]!);
      const type = read16(heap, set);
      const end = setEnd(heap, set);
      if (type === RecordType.SRV && nodes !== 0)
        for (let at = set + SET_HEADER_BYTES; at < end; at += fixedDataBytes(type))
          write32(heap, at + 2, read32(heap, at + 2) + nodes);
      set = end;
    }
    return set;
  }
}

/** The trees in which blocks have names, in an order of their own. */
function treesOf(blocks: readonly KeyBlock[]): TreeKey[] {
  const used = new Set<TreeKey>();
  for (const { source, firstNode, nodeEnd } of blocks)
    for (let node = firstNode; node < nodeEnd; node++) {
      const parent = source.nodes[node * NODE_WORDS + NodeWord.parent]!;
      if (parent < source.trees.length) used.add(source.trees[parent]!);
    }
  return [...used].sort();
}

/** Slots for all names, hashed with the first seed with which a search finds each of them. At most half of them are taken. */
function* placeNames(
  heap: Uint8Array,
  nodes: Uint32Array,
  trees: readonly TreeKey[],
  pace: Pace,
): Generator<void, SeededSlots> {
  const count = nodes.length / NODE_WORDS;
  let size = 4;
  while (size < count * 2) size *= 2;
  const hashes = new Int32Array(count);
  for (let seed = 0; ; seed++) {
    for (const [apex, tree] of trees.entries()) hashes[apex] = apexHash(treeHash(tree), seed);
    const slots = new Uint32Array(size);
    let node = trees.length;
    for (; node < count; node++) {
      const at = node * NODE_WORDS;
      const hash = hashRun(hashes[nodes[at + NodeWord.parent]!]!, heap, nodes[at + NodeWord.run]!);
      hashes[node] = hash;
      if (!takeSlot(slots, hash, node + 1)) break;
      if (pace.isOver(1)) yield;
    }
    if (node === count) return { slots, seed };
  }
}
