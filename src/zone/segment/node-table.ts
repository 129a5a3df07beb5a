import { CapacityError } from "./blob.ts";
import { areSameRuns, hashRun, runLabels } from "./blocks/label-run.ts";
import type { HeapWriter } from "./heap-writer.ts";
import { NODE_WORDS, NodeWord, RECORDS_OFFSET, SLOT_ENTRY } from "./layout.ts";
import { apexHash, treeHash } from "./name-hash.ts";
import { mayHave, type SeededSlots, takeSlot } from "./slots.ts";
import type { TreeKey } from "./tree-key.ts";

const FIRST_NODES = 1 << 5;
const FIRST_SLOTS = 1 << 6;

/**
 * The trees of names while the names of a key, or the stems, are built: the first nodes are their apexes; every other node has a parent and a run of
 * labels. At most half of the slots are taken. Where a search would look at too many slots, all names are hashed with the next seed: names
 * that were chosen to collide collide with one seed only.
 */
export class NodeTable {
  readonly #heap: HeapWriter;
  /** The offset of each run by its text: labels joined by dots. */
  readonly #runs = new Map<string, number>();
  readonly #trees: readonly TreeKey[];
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

  /**
   * The node of a name below `parent`, added if it is new; the first spelling of a name is kept. Names between it and `parent` get no node.
   * @param run the labels in between, joined by dots: nearly always one
   */
  child(parent: number, run: string): number {
    const runAt = this.#runOffset(run);
    const hash = hashRun(this.#hash[parent]!, this.#heap.buffer, runAt);
    const known = this.#find(parent, runAt, hash);
    if (known >= 0) return known;
    if (this.#count === SLOT_ENTRY) throw new CapacityError(`a segment holds at most ${SLOT_ENTRY} names`);
    if (this.#count === this.#hash.length) this.#growNodes();
    const node = this.#count++;
    this.#nodes[node * NODE_WORDS + NodeWord.parent] = parent;
    this.#nodes[node * NODE_WORDS + NodeWord.run] = runAt;
    this.#hash[node] = hash;
    this.#nameBytes[node] = this.#nameBytes[parent]! + 1 + run.length;
    const isFull = this.#count * 2 > this.#slots.length;
    if (isFull || !takeSlot(this.#slots, hash, node + 1)) this.#place(this.#slots.length * (isFull ? 2 : 1));
    return node;
  }

  #find(parent: number, runAt: number, hash: number): number {
    const mask = this.#slots.length - 1;
    for (let probe = hash; ; probe++) {
      const slot = this.#slots[probe & mask]!;
      if (slot === 0) return -1;
      const node = (slot & SLOT_ENTRY) - 1;
      if (mayHave(slot, hash) && this.#hash[node] === hash && this.#isAt(node, parent, runAt)) return node;
    }
  }

  /** Whether a node has the name of a run below a parent: one name may be divided into runs in several ways. */
  #isAt(node: number, parent: number, runAt: number): boolean {
    const bytes = this.#heap.buffer;
    if (this.#parentOf(node) === parent) return areSameRuns(bytes, this.#runOf(node), runAt);
    if (this.apexOf(node) !== this.apexOf(parent)) return false;
    const wanted = [...runLabels(bytes, runAt), ...this.labels(parent)];
    return wanted.join(".").toLowerCase() === this.labels(node).join(".").toLowerCase();
  }

  /** The labels of the node's relative name, the leftmost first. */
  labels(start: number): string[] {
    const labels: string[] = [];
    for (let node = start; node >= this.#trees.length; node = this.#parentOf(node))
      labels.push(...runLabels(this.#heap.buffer, this.#runOf(node)));
    return labels;
  }

  /** The apex above a node. */
  apexOf(start: number): number {
    let node = start;
    while (node >= this.#trees.length) node = this.#parentOf(node);
    return node;
  }

  /** Whether a node is directly below an apex. */
  isTop(node: number): boolean {
    return node >= this.#trees.length && this.#parentOf(node) < this.#trees.length;
  }

  #parentOf(node: number): number {
    return this.#nodes[node * NODE_WORDS + NodeWord.parent]!;
  }

  #runOf(node: number): number {
    return this.#nodes[node * NODE_WORDS + NodeWord.run]!;
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

  #runOffset(run: string): number {
    const known = this.#runs.get(run);
    if (known !== undefined) return known;
    const at = this.#heap.length;
    this.#heap.write8(run.length + 1);
    for (const label of run.includes(".") ? run.split(".") : [run]) {
      this.#heap.write8(label.length);
      this.#heap.writeAscii(label);
    }
    this.#runs.set(run, at);
    return at;
  }

  #hashApexes(): void {
    for (const [apex, tree] of this.#trees.entries()) this.#hash[apex] = apexHash(treeHash(tree), this.#seed);
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
        this.#hash[own] = hashRun(this.#hash[this.#parentOf(own)]!, this.#heap.buffer, this.#runOf(own));
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
