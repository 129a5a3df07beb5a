import { CapacityError } from "../blob.ts";
import type { HeapWriter } from "../heap-writer.ts";
import { MOST_PROBES } from "../layout.ts";
import { apexHash, treeHash } from "../name-hash.ts";
import type { TreeKey } from "../tree-key.ts";
import { areSameRuns, hashRun, runLabels } from "./label-run.ts";

const FIRST_NODES = 1 << 5;
const FIRST_SLOTS = 1 << 6;
const MOST_NODES = 0xffffff;
/** Words of a node: parent, offset of its run, offset of its record block or 0. */
const NODE_WORDS = 3;
const NodeWord = { parent: 0, run: 1, records: 2 } as const;

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
  /** Bits of `NameForm`. */
  #flags = new Uint8Array(FIRST_NODES);
  /** A node and 1. */
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
    if (this.#count === MOST_NODES) throw new CapacityError(`a key has at most ${MOST_NODES} names`);
    if (this.#count === this.#hash.length) this.#growNodes();
    const node = this.#count++;
    this.#nodes[node * NODE_WORDS + NodeWord.parent] = parent;
    this.#nodes[node * NODE_WORDS + NodeWord.run] = runAt;
    this.#hash[node] = hash;
    this.#nameBytes[node] = this.#nameBytes[parent]! + 1 + run.length;
    const isFull = this.#count * 2 > this.#slots.length;
    if (isFull || !this.#takeSlot(this.#slots, node)) this.#place(this.#slots.length * (isFull ? 2 : 1));
    return node;
  }

  #find(parent: number, runAt: number, hash: number): number {
    const mask = this.#slots.length - 1;
    for (let probe = hash; ; probe++) {
      const slot = this.#slots[probe & mask]!;
      if (slot === 0) return -1;
      const node = slot - 1;
      if (this.#hash[node] === hash && this.#isAt(node, parent, runAt)) return node;
    }
  }

  /** Whether a node has the name of a run below a parent: one name may be divided into runs in several ways. */
  #isAt(node: number, parent: number, runAt: number): boolean {
    const bytes = this.#heap.buffer;
    if (this.parentOf(node) === parent) return areSameRuns(bytes, this.runOf(node), runAt);
    if (this.apexOf(node) !== this.apexOf(parent)) return false;
    const wanted = [...runLabels(bytes, runAt), ...this.labels(parent)];
    return wanted.join(".").toLowerCase() === this.labels(node).join(".").toLowerCase();
  }

  /** The labels of the node's relative name, the leftmost first. */
  labels(start: number): string[] {
    const labels: string[] = [];
    for (let node = start; node >= this.#trees.length; node = this.parentOf(node))
      labels.push(...runLabels(this.#heap.buffer, this.runOf(node)));
    return labels;
  }

  /** The apex above a node. */
  apexOf(start: number): number {
    let node = start;
    while (node >= this.#trees.length) node = this.parentOf(node);
    return node;
  }

  /** Whether a node is directly below an apex. */
  isTop(node: number): boolean {
    return node >= this.#trees.length && this.parentOf(node) < this.#trees.length;
  }

  /** The parent of a node that is no apex. */
  parentOf(node: number): number {
    return this.#nodes[node * NODE_WORDS + NodeWord.parent]!;
  }

  /** The offset of a node's run in the builder's heap; 0 for an apex. */
  runOf(node: number): number {
    return this.#nodes[node * NODE_WORDS + NodeWord.run]!;
  }

  /** The offset of a node's record block in the builder's heap, or 0. */
  recordsOf(node: number): number {
    return this.#nodes[node * NODE_WORDS + NodeWord.records]!;
  }

  /** Whether a node has a record block already. */
  hasRecords(node: number): boolean {
    return this.recordsOf(node) !== 0;
  }

  /** Sets the heap offset of the node's record block. */
  setRecords(node: number, block: number): void {
    this.#nodes[node * NODE_WORDS + NodeWord.records] = block;
  }

  /** Sets bits of `NameForm`. */
  addFlags(node: number, flags: number): void {
    this.#flags[node]! |= flags;
  }

  /** The bits of `NameForm` that a node has. */
  flagsOf(node: number): number {
    return this.#flags[node]!;
  }

  /** Whether a node has a bit of `NameForm`. */
  hasFlag(node: number, flag: number): boolean {
    return (this.#flags[node]! & flag) !== 0;
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

  #takeSlot(slots: Uint32Array, node: number): boolean {
    const mask = slots.length - 1;
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const slot = (this.#hash[node]! + probe) & mask;
      if (slots[slot] !== 0) continue;
      slots[slot] = node + 1;
      return true;
    }
    return false;
  }

  /** Places all names in so many slots. */
  #place(size: number): void {
    const trees = this.#trees.length;
    for (;;) {
      const slots = new Uint32Array(size);
      let node = trees;
      while (node < this.#count && this.#takeSlot(slots, node)) node++;
      if (node === this.#count) {
        this.#slots = slots;
        return;
      }
      this.#seed++;
      this.#hashApexes();
      for (let own = trees; own < this.#count; own++)
        this.#hash[own] = hashRun(this.#hash[this.parentOf(own)]!, this.#heap.buffer, this.runOf(own));
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
    this.#flags = grow(this.#flags, new Uint8Array(size));
  }
}
