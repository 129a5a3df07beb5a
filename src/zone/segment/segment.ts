import { FOLD } from "../../dns/name.ts";
import { readBlob } from "./blob.ts";
import type { BlockSource } from "./blocks/key-block.ts";
import { distanceToParent, isTop, nameEnd, runEnd, runOf, treeOfTop } from "./blocks/names.ts";
import {
  BELOW_APEX,
  BlobKind,
  HEAP_START,
  MOST_PROBES,
  NameForm,
  type NodeFlag,
  PARENT_BYTES,
  type SegmentTables,
  SetField,
  TERMS_BYTES,
} from "./layout.ts";
import { listForView, read16, read32 } from "./record-block.ts";
import { checkNames, layoutOf, readLayout, type SegmentLayout } from "./segment-checks.ts";
import { firstSlot, offsetBits, readSlot, slotBytes } from "./slots.ts";
import { readTerms } from "./table-builder.ts";
import { CLUSTERSET_TREE, type TreeKey } from "./tree-key.ts";

/** When the lease groups of a segment expire, and for whom that was looked up. */
export interface LeaseMemo {
  readonly owner: object;
  readonly table: Float64Array;
}

const NO_NAMES: ReadonlyMap<string, number> = new Map();

/** A table of indices by name. */
export function indexByName(names: readonly string[]): ReadonlyMap<string, number> {
  // Nearly all segments have no views: a map for each of them would be a tenth of what they take.
  if (names.length === 0) return NO_NAMES;
  return new Map(names.map((name, index) => [name, index]));
}

/**
 * The names of some services, or the stems, as immutable bytes: a hash table from names to RRsets (byte layout in layout.ts). A node is the offset of
 * a name.
 */
export class Segment {
  // A query reads these fields first: together, they are in one or two cache lines. All else that it reads is in `bytes`.
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #slotsAt: number;
  readonly #slots: number;
  readonly #slotBytes: number;
  /** The bits of a slot that are an offset. */
  readonly #offset: number;
  readonly #offsetBits: number;
  readonly #termsAt: number;
  /** See `apexHash`. */
  readonly seed: number;
  /** The index of the clusterset's tree; a field, since looking it up in the table would be one more cache miss for each query. */
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
  /** The number of names. */
  readonly names: number;
  readonly #treeIndex: ReadonlyMap<TreeKey, number>;
  readonly #viewIndex: ReadonlyMap<string, number>;

  private constructor(bytes: Uint8Array<ArrayBuffer>, hash: string, layout: SegmentLayout) {
    const { names, slots, seed, heapEnd, slotsAt } = layout;
    const { trees, views, leaseGroups } = layout.tables;
    this.bytes = bytes;
    this.#slotsAt = slotsAt;
    this.#slots = slots;
    this.#slotBytes = slotBytes(heapEnd);
    this.#offsetBits = offsetBits(heapEnd);
    this.#offset = 2 ** this.#offsetBits - 1;
    this.#termsAt = heapEnd;
    this.seed = seed;
    this.#clusterset = trees.indexOf(CLUSTERSET_TREE);
    this.hash = hash;
    this.trees = trees;
    this.leaseGroups = leaseGroups;
    this.names = names;
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
    const layout = readLayout(bytes, words, TERMS_BYTES);
    checkNames(bytes, layout);
    return new Segment(bytes, hash, layout);
  }

  /**
   * A segment of bytes that this program has just compiled. They are not checked, which would take as long as compiling the segment of a service
   * with many endpoints.
   */
  static compiled(bytes: Uint8Array<ArrayBuffer>, hash: string, tables: SegmentTables): Segment {
    return new Segment(bytes, hash, layoutOf(bytes, TERMS_BYTES, tables));
  }

  /** Bytes that this program compiled, perhaps in another thread: only their header and tables are read. @throws {FormatError} for another blob */
  static trusted(bytes: Uint8Array<ArrayBuffer>, hash: string): Segment {
    return new Segment(
      bytes,
      hash,
      readLayout(bytes, readBlob(bytes, BlobKind.segment, "a segment"), TERMS_BYTES),
    );
  }

  /** Its names, to be copied into the next segment. */
  source(): BlockSource {
    const { bytes, trees, leaseGroups } = this;
    const at = this.#termsAt;
    const terms = readTerms(bytes, at, (this.#slotsAt - at) / TERMS_BYTES);
    return { bytes, terms, trees, views: [...this.#viewIndex.keys()], leaseGroups };
  }

  /** The index of a tree; -1 where the segment has no names in it. */
  treeOf(key: TreeKey): number {
    return key === CLUSTERSET_TREE ? this.#clusterset : (this.#treeIndex.get(key) ?? -1);
  }

  /** The index of a view by its name; -1 where all its records are those of queries without a view. */
  viewOf(name: string | undefined): number {
    return name === undefined ? -1 : (this.#viewIndex.get(name) ?? -1);
  }

  /** The nodes of all names: parents come before children. */
  *nodes(): Generator<number> {
    const { bytes } = this;
    const end = this.#termsAt;
    for (let node = HEAP_START; node < end; node = nameEnd(bytes, node)) yield node;
  }

  /** The index of the tree that a name is in. */
  treeAbove(start: number): number {
    const { bytes } = this;
    let node = start;
    while (!isTop(bytes, node)) node -= distanceToParent(bytes, node);
    return treeOfTop(bytes, node);
  }

  /** The parent of a node; -1 if that is an apex. */
  parentOf(node: number): number {
    const { bytes } = this;
    return isTop(bytes, node) ? -1 : node - distanceToParent(bytes, node);
  }

  /** The offset of a node's run of labels: the length in bytes of all, then each with its length byte. */
  runOf(node: number): number {
    return runOf(this.bytes, node);
  }

  nameBytes(start: number): number {
    let length = 0;
    for (let node = start; node >= 0; node = this.parentOf(node)) length += this.bytes[this.runOf(node)]!;
    return length;
  }

  copyName(start: number, into: Uint8Array, from: number): void {
    const { bytes } = this;
    let at = from;
    for (let node = start; node >= 0; node = this.parentOf(node)) {
      const run = this.runOf(node);
      for (let index = run + 1; index <= run + bytes[run]!; index++) into[at++] = bytes[index]!;
    }
  }

  /** Whether a node has a bit of `NodeFlag`. */
  hasFlag(node: number, flag: (typeof NodeFlag)[keyof typeof NodeFlag]): boolean {
    return (this.bytes[node]! & flag) !== 0;
  }

  /**
   * The node of a folded relative name (labels only, no root label, from `start` to `end` in `name`) in a tree, or -1.
   * `hash` is that of the name, see name-hash.ts.
   */
  findNode(tree: number, name: Uint8Array, start: number, end: number, hash: number): number {
    const { bytes } = this;
    const slotsAt = this.#slotsAt;
    const slots = this.#slots;
    const width = this.#slotBytes;
    const offset = this.#offset;
    // A slot of 3 bytes lacks the highest bits.
    const wanted = (hash << this.#offsetBits) & (width === 3 ? 0xffffff : -1);
    let slot = firstSlot(hash, slots);
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const found = readSlot(bytes, slotsAt + slot * width, width);
      if (found === 0) return -1;
      if (((found ^ wanted) & ~offset) === 0 && this.#hasName(found & offset, tree, name, start, end))
        return found & offset;
      slot = slot + 1 === slots ? 0 : slot + 1;
    }
    return -1;
  }

  #hasName(deepest: number, tree: number, name: Uint8Array, start: number, end: number): boolean {
    const { bytes } = this;
    let node = deepest;
    let position = start;
    for (;;) {
      const parent = (bytes[node]! & NameForm.parent) as 0 | 1 | 2 | 3;
      let at = node + 1 + PARENT_BYTES[parent];
      const stop = position + bytes[at]!;
      if (stop > end) return false;
      // A length byte is at most 63 and a letter is at least 65: where all bytes are equal, labels are.
      while (position < stop) {
        const own = bytes[++at]!;
        if (own !== name[position] && FOLD[own] !== name[position]) return false;
        position++;
      }
      if (parent === BELOW_APEX) return position === end && treeOfTop(bytes, node) === tree;
      node -= distanceToParent(bytes, node);
    }
  }

  /** The offset of the node's set list for a view by its index here, or 0 for an empty non-terminal. */
  setListOf(node: number, view: number): number {
    const { bytes } = this;
    const form = bytes[node]!;
    if ((form & NameForm.records) === 0) return 0;
    const block = runEnd(bytes, node);
    return view < 0 || (form & NameForm.variants) === 0 ? block : listForView(bytes, block, view);
  }

  /** The TTL of a set in seconds, with KEEP_ORDER if the order of its records matters. */
  ttlOf(set: number): number {
    const { bytes } = this;
    return read32(bytes, this.#termsAt + TERMS_BYTES * read16(bytes, set + SetField.terms));
  }

  /** The lease group of a set. */
  leaseGroupOf(set: number): number {
    const { bytes } = this;
    return read16(bytes, this.#termsAt + TERMS_BYTES * read16(bytes, set + SetField.terms) + 4);
  }
}
