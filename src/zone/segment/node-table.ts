import { FOLD } from "../../dns/name.ts";
import type { HeapWriter } from "./heap-writer.ts";
import { RECORDS_OFFSET } from "./layout.ts";
import { hashLabel, spread } from "./name-hash.ts";
import { type TreeKey, treeHash } from "./tree-key.ts";

const FIRST_SLOTS = 1 << 6;

/** The trees of names while a segment is built: the first nodes are their apexes; every other node has a parent and a label. */
export class NodeTable {
  readonly #heap: HeapWriter;
  readonly #labels = new Map<string, number>();
  #parent = new Uint32Array(FIRST_SLOTS);
  #label = new Uint32Array(FIRST_SLOTS);
  #records = new Uint32Array(FIRST_SLOTS);
  #hash = new Int32Array(FIRST_SLOTS);
  #nameBytes = new Uint8Array(FIRST_SLOTS);
  #slots = new Uint32Array(FIRST_SLOTS);
  #count: number;
  readonly #trees: number;

  /** @param trees the apex of the tree with index n is node n. */
  constructor(heap: HeapWriter, trees: readonly TreeKey[]) {
    this.#heap = heap;
    this.#trees = trees.length;
    this.#count = trees.length;
    while (this.#parent.length < trees.length) this.#growNodes();
    for (const [apex, tree] of trees.entries()) this.#hash[apex] = treeHash(tree);
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
    const bytes = this.#heap.buffer;
    const hash = hashLabel(this.#hash[parent]!, bytes, labelAt + 1, label.length);
    const mask = this.#slots.length - 1;
    let slot = spread(hash) & mask;
    for (let entry = this.#slots[slot]!; entry !== 0; entry = this.#slots[slot]!) {
      if (this.#parent[entry - 1] === parent && sameLabel(bytes, this.#label[entry - 1]!, labelAt))
        return entry - 1;
      slot = (slot + 1) & mask;
    }
    if (this.#count === this.#parent.length) this.#growNodes();
    const node = this.#count++;
    this.#parent[node] = parent;
    this.#label[node] = labelAt;
    this.#hash[node] = hash;
    this.#nameBytes[node] = this.#nameBytes[parent]! + 1 + label.length;
    this.#slots[slot] = node + 1;
    if (this.#count * 4 > this.#slots.length * 3) this.#growSlots();
    return node;
  }

  /** The labels of the node's relative name, the leftmost first. */
  labels(start: number): string[] {
    const bytes = this.#heap.buffer;
    const labels: string[] = [];
    for (let node = start; node >= this.#trees; node = this.#parent[node]!) {
      const at = this.#label[node]!;
      labels.push(String.fromCharCode(...bytes.subarray(at + 1, at + 1 + bytes[at]!)));
    }
    return labels;
  }

  /** The apex above a node. */
  apexOf(start: number): number {
    let node = start;
    while (node >= this.#trees) node = this.#parent[node]!;
    return node;
  }

  /** Whether a node has a record block already. */
  hasRecords(node: number): boolean {
    return (this.#records[node]! & RECORDS_OFFSET) !== 0;
  }

  /** Sets the heap offset of the node's record block. */
  setRecords(node: number, block: number): void {
    this.#records[node]! |= block;
  }

  /** Sets bits of `NodeFlag`. */
  addFlags(node: number, flags: number): void {
    this.#records[node]! |= flags;
  }

  /** Whether a node has a bit of `NodeFlag`. */
  hasFlag(node: number, flag: number): boolean {
    return (this.#records[node]! & flag) !== 0;
  }

  /** The sections of the segment; valid until the next name. */
  sections(): {
    slots: Uint32Array;
    parent: Uint32Array;
    label: Uint32Array;
    records: Uint32Array;
  } {
    return {
      slots: this.#slots,
      parent: this.#parent.subarray(0, this.#count),
      label: this.#label.subarray(0, this.#count),
      records: this.#records.subarray(0, this.#count),
    };
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

  #growNodes(): void {
    const size = this.#parent.length * 2;
    const grow = <T extends Uint32Array | Int32Array | Uint8Array>(from: T, into: T): T => {
      into.set(from);
      return into;
    };
    this.#parent = grow(this.#parent, new Uint32Array(size));
    this.#label = grow(this.#label, new Uint32Array(size));
    this.#records = grow(this.#records, new Uint32Array(size));
    this.#hash = grow(this.#hash, new Int32Array(size));
    this.#nameBytes = grow(this.#nameBytes, new Uint8Array(size));
  }

  #growSlots(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let node = this.#trees; node < this.#count; node++) {
      let slot = spread(this.#hash[node]!) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = node + 1;
    }
    this.#slots = slots;
  }
}

function sameLabel(bytes: Uint8Array, one: number, other: number): boolean {
  if (one === other) return true;
  const length = bytes[one]!;
  if (length !== bytes[other]) return false;
  for (let index = 1; index <= length; index++)
    if (FOLD[bytes[one + index]!] !== FOLD[bytes[other + index]!]) return false;
  return true;
}
