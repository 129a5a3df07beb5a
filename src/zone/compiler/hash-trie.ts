import { MOST_BITS } from "../generation/directory.ts";

/** What a trie holds. */
export interface TrieItem {
  /** 32 bits; the lowest ones select first. */
  readonly hash: number;
  /** About how many bytes it takes, in any unit; a function of its content alone. */
  weight: number;
}

/** A node of a trie: a leaf with items, or two nodes that the next bit of a hash selects. */
export class TrieNode<Item, Result> {
  readonly depth: number;
  /** The lowest `depth` bits that its items' hashes share. */
  readonly prefix: number;
  weight = 0;
  count = 0;
  /** Undefined for nodes that are no leaf. */
  items: Set<Item> | undefined = new Set();
  children: readonly [TrieNode<Item, Result>, TrieNode<Item, Result>] | undefined;
  /** What was compiled from a leaf, or from the leaves below; undefined since they changed. */
  result: Result | undefined;

  constructor(depth: number, prefix: number) {
    this.depth = depth;
    this.prefix = prefix;
  }

  /** The child on the way to a hash. */
  childFor(hash: number): TrieNode<Item, Result> {
    return this.children![((hash >>> this.depth) & 1) as 0 | 1];
  }
}

/**
 * A binary trie by hash whose leaves hold items of a limited weight: a node has children exactly when what is below it weighs more than the target,
 * is more than one item, and hashes have bits left. So equal items give equal leaves, in whatever order they came and went.
 */
export class HashTrie<Item extends TrieItem, Result> {
  readonly top = new TrieNode<Item, Result>(0, 0);
  /** Leaves without a result. */
  readonly changed = new Set<TrieNode<Item, Result>>([this.top]);
  /** Results of leaves that changed or are gone. */
  dropped: Result[] = [];
  readonly #target: number;

  constructor(target: number) {
    this.#target = target;
  }

  add(item: Item): void {
    this.#pass(item, item.weight, 1);
  }

  remove(item: Item): void {
    this.#pass(item, -item.weight, -1);
  }

  /** Takes over an item's changed content. */
  change(item: Item, weight: number): void {
    const more = weight - item.weight;
    item.weight = weight;
    this.#pass(item, more, 0);
  }

  #pass(item: Item, weight: number, count: -1 | 0 | 1): void {
    let node = this.top;
    for (;;) {
      node.weight += weight;
      node.count += count;
      this.#drop(node);
      if (node.children === undefined) break;
      if (this.#isLeaf(node)) {
        this.#join(node);
        break;
      }
      node = node.childFor(item.hash);
    }
    if (count === 1) node.items!.add(item);
    else if (count === -1) node.items!.delete(item);
    this.changed.add(node);
    if (!this.#isLeaf(node)) this.#split(node);
  }

  /** Takes over that the results of all leaves are out of date. */
  changeAll(): void {
    const change = (node: TrieNode<Item, Result>) => {
      this.#drop(node);
      if (node.children === undefined) this.changed.add(node);
      else for (const child of node.children) change(child);
    };
    change(this.top);
  }

  #drop(node: TrieNode<Item, Result>): void {
    if (node.result !== undefined && node.children === undefined) this.dropped.push(node.result);
    node.result = undefined;
  }

  #isLeaf({ weight, count, depth }: TrieNode<Item, Result>): boolean {
    return weight <= this.#target || count <= 1 || depth === MOST_BITS;
  }

  #split(node: TrieNode<Item, Result>): void {
    const { depth, prefix } = node;
    const children = [
      new TrieNode<Item, Result>(depth + 1, prefix),
      new TrieNode<Item, Result>(depth + 1, prefix | (1 << depth)),
    ] as const;
    node.children = children;
    for (const item of node.items!) {
      const child = node.childFor(item.hash);
      child.items!.add(item);
      child.weight += item.weight;
      child.count++;
    }
    node.items = undefined;
    this.changed.delete(node);
    for (const child of children) {
      this.changed.add(child);
      if (!this.#isLeaf(child)) this.#split(child);
    }
  }

  /** Makes a leaf of a node, whose children are gone. */
  #join(node: TrieNode<Item, Result>): void {
    const items = new Set<Item>();
    const gather = (from: TrieNode<Item, Result>) => {
      this.changed.delete(from);
      this.#drop(from);
      for (const item of from.items ?? []) items.add(item);
      for (const child of from.children ?? []) gather(child);
    };
    gather(node);
    node.children = undefined;
    node.items = items;
  }
}
