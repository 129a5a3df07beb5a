import { FOLD } from "../../dns/name.ts";
import { readBlob } from "./blob.ts";
import type { BlockSource } from "./blocks/key-block.ts";
import {
  BlobKind,
  MOST_PROBES,
  NODE_WORDS,
  type NodeFlag,
  NodeWord,
  RECORDS_OFFSET,
  type SegmentTables,
  SLOT_ENTRY,
} from "./layout.ts";
import { listForView } from "./record-block.ts";
import { checkNames, layoutOf, readLayout, type SegmentLayout } from "./segment-checks.ts";
import { mayHave } from "./slots.ts";
import { CLUSTERSET_TREE, type TreeKey } from "./tree-key.ts";

/** When the lease groups of a segment expire, and for whom that was looked up. */
export interface LeaseMemo {
  readonly owner: object;
  readonly table: Float64Array;
}

/** A table of indices by name. */
export function indexByName(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, index) => [name, index]));
}

/** The names of some services, or the stems, as immutable bytes: a hash table from names to RRsets (byte layout in layout.ts). */
export class Segment {
  // A query reads these fields first: together, they are in one or two cache lines.
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #words: Uint32Array;
  readonly #nodesAt: number;
  readonly #slotsAt: number;
  readonly #mask: number;
  /** See `apexHash`. */
  readonly seed: number;
  /** The number of trees: their apexes are the first nodes. */
  readonly apexes: number;
  /** The apex of the clusterset's tree; a field, since looking it up in the table would be one more cache miss for each query. */
  readonly #clusterset: number;
  /** A segment is the branch to itself in a directory: one object less, and so one cache miss less (54 ns), on the way to it. */
  segment: Segment | undefined = this;
  readonly page = undefined;
  readonly kind = "segment";
  /** The name of these bytes, see hash.ts. */
  readonly hash: string;
  readonly trees: readonly TreeKey[];
  readonly leaseGroups: readonly (readonly string[])[];
  /** Kept by `Leases` with the segment, where a query finds it without another look-up. */
  leaseMemo: LeaseMemo | undefined = undefined;
  readonly nodes: number;
  readonly #treeIndex: ReadonlyMap<TreeKey, number>;
  readonly #viewIndex: ReadonlyMap<string, number>;

  private constructor(
    bytes: Uint8Array<ArrayBuffer>,
    words: Uint32Array,
    hash: string,
    { nodes, slots, seed, nodesAt, slotsAt, tables: { trees, views, leaseGroups } }: SegmentLayout,
  ) {
    this.bytes = bytes;
    this.hash = hash;
    this.trees = trees;
    this.leaseGroups = leaseGroups;
    this.nodes = nodes;
    this.seed = seed;
    this.apexes = trees.length;
    this.#words = words;
    this.#nodesAt = nodesAt;
    this.#slotsAt = slotsAt;
    this.#mask = slots - 1;
    this.#treeIndex = indexByName(trees);
    this.#clusterset = trees.indexOf(CLUSTERSET_TREE);
    this.#viewIndex = indexByName(views);
  }

  /**
   * Loads bytes without copying them; they must start at a multiple of 4 in their buffer. Whatever they are, lookups in a loaded segment
   * end, and read nothing outside of it.
   * @param hash that of the bytes, which the caller knows or has checked
   * @throws {FormatError} for bytes that are not a well-formed segment
   */
  static load(bytes: Uint8Array<ArrayBuffer>, hash: string): Segment {
    const words = readBlob(bytes, BlobKind.segment, "a segment");
    const layout = readLayout(bytes, words);
    checkNames(bytes, words, layout);
    return new Segment(bytes, words, hash, layout);
  }

  /**
   * A segment of bytes that this program has just compiled. They are not checked, which would take as long as compiling the segment of a service
   * with many endpoints.
   */
  static compiled(bytes: Uint8Array<ArrayBuffer>, hash: string, tables: SegmentTables): Segment {
    const words = new Uint32Array(bytes.buffer);
    return new Segment(bytes, words, hash, layoutOf(words, tables));
  }

  /** Its names, to be copied into the next segment. */
  source(): BlockSource {
    const { bytes, trees, leaseGroups } = this;
    const nodes = this.#words.subarray(this.#nodesAt, this.#nodesAt + this.nodes * NODE_WORDS);
    return { bytes, nodes, trees, views: [...this.#viewIndex.keys()], leaseGroups };
  }

  /** The index of a tree, which is the node of its apex; -1 where the segment has no names in it. */
  treeOf(key: TreeKey): number {
    return key === CLUSTERSET_TREE ? this.#clusterset : (this.#treeIndex.get(key) ?? -1);
  }

  /** The index of a view by its name; -1 where all its records are those of queries without a view. */
  viewOf(name: string | undefined): number {
    return name === undefined ? -1 : (this.#viewIndex.get(name) ?? -1);
  }

  /** The apex above a node. */
  apexOf(start: number): number {
    const { apexes } = this;
    let node = start;
    while (node >= apexes) node = this.parentOf(node);
    return node;
  }

  /** The parent of a node that is no apex. */
  parentOf(node: number): number {
    return this.#words[this.#nodesAt + node * NODE_WORDS + NodeWord.parent]!;
  }

  /** The offset of a node's run of labels: the length in bytes of all, then each with its length byte. */
  runOf(node: number): number {
    return this.#words[this.#nodesAt + node * NODE_WORDS + NodeWord.run]!;
  }

  /** Whether a node has a bit of `NodeFlag`. */
  hasFlag(node: number, flag: (typeof NodeFlag)[keyof typeof NodeFlag]): boolean {
    return (this.#words[this.#nodesAt + node * NODE_WORDS + NodeWord.records]! & flag) !== 0;
  }

  /**
   * The node of a folded relative name (labels only, no root label, from `start` to `end` in `name`) below an apex, or -1.
   * `hash` is that of the name, see name-hash.ts.
   */
  findNode(apex: number, name: Uint8Array, start: number, end: number, hash: number): number {
    if (end === start) return apex;
    const words = this.#words;
    const mask = this.#mask;
    const slotsAt = this.#slotsAt;
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const slot = words[slotsAt + ((hash + probe) & mask)]!;
      if (slot === 0) return -1;
      const node = (slot & SLOT_ENTRY) - 1;
      if (mayHave(slot, hash) && this.#hasName(node, apex, name, start, end)) return node;
    }
    return -1;
  }

  #hasName(deepest: number, apex: number, name: Uint8Array, start: number, end: number): boolean {
    const words = this.#words;
    const nodesAt = this.#nodesAt;
    const { bytes, apexes } = this;
    let node = deepest;
    let position = start;
    while (node >= apexes) {
      const nodeAt = nodesAt + node * NODE_WORDS;
      let at = words[nodeAt + NodeWord.run]!;
      const stop = position + bytes[at]!;
      if (stop > end) return false;
      // A length byte is at most 63 and a letter is at least 65: where all bytes are equal, labels are.
      while (position < stop) {
        const own = bytes[++at]!;
        if (own !== name[position] && FOLD[own] !== name[position]) return false;
        position++;
      }
      node = words[nodeAt + NodeWord.parent]!;
    }
    return node === apex && position === end;
  }

  /** The offset of the node's set list for a view by its index here, or 0 for an empty non-terminal. */
  setListOf(node: number, view: number): number {
    const block = this.#words[this.#nodesAt + node * NODE_WORDS + NodeWord.records]! & RECORDS_OFFSET;
    return block === 0 ? 0 : listForView(this.bytes, block, view);
  }
}
