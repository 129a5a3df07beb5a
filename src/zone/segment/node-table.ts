import { FOLD } from "../../dns/name.ts";
import { CapacityError } from "./blob.ts";
import type { HeapWriter } from "./heap-writer.ts";
import { NODE_WORDS, NodeWord, RECORDS_OFFSET, SLOT_ENTRY } from "./layout.ts";
import { apexHash, hashLabel, treeHash } from "./name-hash.ts";
import { mayHave, type SeededSlots, takeSlot } from "./slots.ts";
import type { TreeKey } from "./tree-key.ts";

const FIRST_NODES = 1 << 6;
const FIRST_SLOTS = 1 << 7;

/**
 * The trees of names while a segment is built: the first nodes are their apexes; every other node has a parent and a label. At most half of the slots
 * are taken. Where a search would look at too many slots, all names are hashed with the next seed: whoever chooses names whose hashes collide has
 * chosen them for one seed.
 */
export class NodeTable {
  readonly #heap: HeapWriter;
  readonly #labels = new Map<string, number>();
  readonly #trees: readonly TreeKey[];
  readonly #folded = new Uint8Array(64);
  #nodes = new Uint32Array(FIRST_NODES * NODE_WORDS);
  #hash = new Int32Array(FIRST_NODES);
  #nameBytes = new Uint8Array(FIRST_NODES);
  #slots = new Uint32Array(FIRST_SLOTS);
  #seed = 0;
  #count: number;

  /** @param trees the apex of the tree with index n is node n. */
  constructor(heap: HeapWriter, trees: readonly TreeKey[]) {
    this.#heap = heap;
    this.#trees = trees;
    this.#count = trees.length;
    while (this.#hash.length < trees.length) this.#growNodes();
    this.#hashApexes();
  }

  get count(): number {
    return this.#count;
  }

  /** The length in bytes of the node's relative name on the wire, without the zone. */
  nameBytes(node: number): number {
    return this.#nameBytes[node]!;
  }

  /** The node for `label` below `parent`, added if it is new; the first spelling of a label is kept. */
  child(parent: number, label: string): number {
    const labelAt = this.#labelOffset(label);
    const hash = this.#hashChild(parent, labelAt);
    const known = this.#find(parent, labelAt, hash);
    if (known >= 0) return known;
    if (this.#count === SLOT_ENTRY) throw new CapacityError(`a segment holds at most ${SLOT_ENTRY} names`);
    if (this.#count === this.#hash.length) this.#growNodes();
    const node = this.#count++;
    this.#nodes[node * NODE_WORDS + NodeWord.parent] = parent;
    this.#nodes[node * NODE_WORDS + NodeWord.label] = labelAt;
    this.#hash[node] = hash;
    this.#nameBytes[node] = this.#nameBytes[parent]! + 1 + label.length;
    const isFull = this.#count * 2 > this.#slots.length;
    if (isFull || !takeSlot(this.#slots, hash, node + 1)) this.#place(this.#slots.length * (isFull ? 2 : 1));
    return node;
  }

  #find(parent: number, labelAt: number, hash: number): number {
    const mask = this.#slots.length - 1;
    for (let probe = hash; ; probe++) {
      const slot = this.#slots[probe & mask]!;
      if (slot === 0) return -1;
      const node = (slot & SLOT_ENTRY) - 1;
      if (mayHave(slot, hash) && this.#parentOf(node) === parent && this.#hasLabel(node, labelAt))
        return node;
    }
  }

  /** The labels of the node's relative name, the leftmost first. */
  labels(start: number): string[] {
    const bytes = this.#heap.buffer;
    const labels: string[] = [];
    for (let node = start; node >= this.#trees.length; node = this.#parentOf(node)) {
      const at = this.#nodes[node * NODE_WORDS + NodeWord.label]!;
      labels.push(String.fromCharCode(...bytes.subarray(at + 1, at + 1 + bytes[at]!)));
    }
    return labels;
  }

  /** The apex above a node. */
  apexOf(start: number): number {
    let node = start;
    while (node >= this.#trees.length) node = this.#parentOf(node);
    return node;
  }

  #parentOf(node: number): number {
    return this.#nodes[node * NODE_WORDS + NodeWord.parent]!;
  }

  /** Whether a node has a record block already. */
  hasRecords(node: number): boolean {
    return (this.#nodes[node * NODE_WORDS + NodeWord.records]! & RECORDS_OFFSET) !== 0;
  }

  /** Sets the heap offset of the node's record block. */
  setRecords(node: number, block: number): void {
    this.#nodes[node * NODE_WORDS + NodeWord.records]! |= block;
  }

  /** Sets bits of `NodeFlag`. */
  addFlags(node: number, flags: number): void {
    this.#nodes[node * NODE_WORDS + NodeWord.records]! |= flags;
  }

  /** Whether a node has a bit of `NodeFlag`. */
  hasFlag(node: number, flag: number): boolean {
    return (this.#nodes[node * NODE_WORDS + NodeWord.records]! & flag) !== 0;
  }

  /** The sections of the segment; valid until the next name. */
  sections(): SeededSlots & { readonly nodes: Uint32Array } {
    const nodes = this.#nodes.subarray(0, this.#count * NODE_WORDS);
    return { nodes, slots: this.#slots, seed: this.#seed };
  }

  #labelOffset(label: string): number {
    const known = this.#labels.get(label);
    if (known !== undefined) return known;
    const at = this.#heap.length;
    this.#heap.write8(label.length);
    this.#heap.writeAscii(label);
    this.#labels.set(label, at);
    return at;
  }

  #hasLabel(node: number, labelAt: number): boolean {
    const own = this.#nodes[node * NODE_WORDS + NodeWord.label]!;
    if (own === labelAt) return true;
    const bytes = this.#heap.buffer;
    const length = bytes[own]!;
    if (length !== bytes[labelAt]) return false;
    for (let index = 1; index <= length; index++)
      if (FOLD[bytes[own + index]!] !== FOLD[bytes[labelAt + index]!]) return false;
    return true;
  }

  #hashApexes(): void {
    for (const [apex, tree] of this.#trees.entries()) this.#hash[apex] = apexHash(treeHash(tree), this.#seed);
  }

  #hashChild(parent: number, labelAt: number): number {
    const bytes = this.#heap.buffer;
    const length = bytes[labelAt]!;
    for (let index = 0; index < length; index++) this.#folded[index] = FOLD[bytes[labelAt + 1 + index]!]!;
    return hashLabel(this.#hash[parent]!, this.#folded, 0, length);
  }

  /** Places all names in so many slots. */
  #place(size: number): void {
    const trees = this.#trees.length;
    for (;;) {
      const slots = new Uint32Array(size);
      let node = trees;
      while (node < this.#count && takeSlot(slots, this.#hash[node]!, node + 1)) node++;
      if (node === this.#count) {
        this.#slots = slots;
        return;
      }
      this.#seed++;
      this.#hashApexes();
      for (let own = trees; own < this.#count; own++)
        this.#hash[own] = this.#hashChild(
          this.#parentOf(own),
          this.#nodes[own * NODE_WORDS + NodeWord.label]!,
        );
    }
  }

  #growNodes(): void {
    const size = this.#hash.length * 2;
    const grow = <T extends Uint32Array | Int32Array | Uint8Array>(from: T, into: T): T => {
      into.set(from);
      return into;
    };
    this.#nodes = grow(this.#nodes, new Uint32Array(size * NODE_WORDS));
    this.#hash = grow(this.#hash, new Int32Array(size));
    this.#nameBytes = grow(this.#nameBytes, new Uint8Array(size));
  }
}
