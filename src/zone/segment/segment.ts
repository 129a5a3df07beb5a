import { FOLD } from "../../dns/name.ts";
import { readBlob } from "./blob.ts";
import { BlobKind, type NodeFlag, RECORDS_OFFSET, type SegmentTables } from "./layout.ts";
import { spread } from "./name-hash.ts";
import { listForView } from "./record-block.ts";
import { checkNames, readLayout } from "./segment-checks.ts";
import type { TreeKey } from "./tree-key.ts";

/** A table of indices by name. */
export function indexByName(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, index) => [name, index]));
}

/** The names of some services, or the stems, as immutable bytes: a hash table from names to RRsets (byte layout in layout.ts). */
export class Segment {
  /** The name of these bytes, see hash.ts. */
  readonly hash: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly trees: readonly TreeKey[];
  readonly leaseGroups: readonly (readonly string[])[];
  /** TTLs in seconds. */
  readonly ttls: readonly number[];
  readonly nodes: number;
  readonly #words: Uint32Array;
  readonly #parentAt: number;
  readonly #labelAt: number;
  readonly #recordsAt: number;
  readonly #slotsAt: number;
  readonly #mask: number;
  readonly #treeIndex: ReadonlyMap<TreeKey, number>;
  readonly #viewIndex: ReadonlyMap<string, number>;

  private constructor(
    bytes: Uint8Array<ArrayBuffer>,
    words: Uint32Array,
    hash: string,
    {
      nodes,
      slots,
      sectionsAt,
    }: { readonly nodes: number; readonly slots: number; readonly sectionsAt: number },
    { trees, views, leaseGroups, ttls }: SegmentTables,
  ) {
    this.bytes = bytes;
    this.hash = hash;
    this.trees = trees;
    this.leaseGroups = leaseGroups;
    this.ttls = ttls;
    this.nodes = nodes;
    this.#words = words;
    this.#parentAt = sectionsAt;
    this.#labelAt = sectionsAt + nodes;
    this.#recordsAt = sectionsAt + 2 * nodes;
    this.#slotsAt = sectionsAt + 3 * nodes;
    this.#mask = slots - 1;
    this.#treeIndex = indexByName(trees);
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
    const layout = readLayout(bytes, words, 3);
    checkNames(bytes, words, layout);
    return new Segment(bytes, words, hash, layout, layout.tables);
  }

  /** The index of a tree, which is the node of its apex; -1 where the segment has no names in it. */
  treeOf(key: TreeKey): number {
    return this.#treeIndex.get(key) ?? -1;
  }

  /** The index of a view by its name; -1 where all its records are those of queries without a view. */
  viewOf(name: string | undefined): number {
    return name === undefined ? -1 : (this.#viewIndex.get(name) ?? -1);
  }

  /** The apex above a node. */
  apexOf(start: number): number {
    const apexes = this.trees.length;
    let node = start;
    while (node >= apexes) node = this.parentOf(node);
    return node;
  }

  /** The parent of a node that is no apex. */
  parentOf(node: number): number {
    return this.#words[this.#parentAt + node]!;
  }

  /** The offset of a node's label (length byte, bytes). */
  labelOf(node: number): number {
    return this.#words[this.#labelAt + node]!;
  }

  /** Whether a node has a bit of `NodeFlag`. */
  hasFlag(node: number, flag: (typeof NodeFlag)[keyof typeof NodeFlag]): boolean {
    return (this.#words[this.#recordsAt + node]! & flag) !== 0;
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
    for (let slot = spread(hash) & mask; ; slot = (slot + 1) & mask) {
      const entry = words[slotsAt + slot]!;
      if (entry === 0) return -1;
      if (this.#hasName(entry - 1, apex, name, start, end)) return entry - 1;
    }
  }

  #hasName(deepest: number, apex: number, name: Uint8Array, start: number, end: number): boolean {
    const words = this.#words;
    const parentAt = this.#parentAt;
    const labelAt = this.#labelAt;
    const { bytes } = this;
    const apexes = this.trees.length;
    let node = deepest;
    let position = start;
    while (node >= apexes) {
      if (position >= end) return false;
      let at = words[labelAt + node]!;
      const length = bytes[at]!;
      if (name[position] !== length) return false;
      const stop = position + length;
      while (position < stop) if (FOLD[bytes[++at]!] !== name[++position]) return false;
      position++;
      node = words[parentAt + node]!;
    }
    return node === apex && position === end;
  }

  /** The offset of the node's set list for a view by its index here, or 0 for an empty non-terminal. */
  setListOf(node: number, view: number): number {
    const block = this.#words[this.#recordsAt + node]! & RECORDS_OFFSET;
    return block === 0 ? 0 : listForView(this.bytes, block, view);
  }
}
