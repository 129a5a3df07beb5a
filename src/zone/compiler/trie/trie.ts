import { MOST_BITS } from "../../generation/directory.ts";
import { type LeafPlace, leafName } from "../notes/compiler-notes.ts";

/** A node of a trie: a leaf with items, or two nodes that the next bit of a hash selects. */
export class TrieNode<Items, Result> {
  readonly depth: number;
  /** The lowest `depth` bits that its items' hashes share. */
  readonly prefix: number;
  weight = 0;
  count = 0;
  /** Undefined for nodes that are no leaf. */
  items: Items | undefined;
  children: readonly [TrieNode<Items, Result>, TrieNode<Items, Result>] | undefined;
  /** What was compiled from a leaf, or from the leaves below; undefined since they changed. */
  result: Result | undefined;

  constructor(depth: number, prefix: number, items: Items) {
    this.depth = depth;
    this.prefix = prefix;
    this.items = items;
  }

  /** The child on the way to a hash. */
  childFor(hash: number): TrieNode<Items, Result> {
    return this.children![((hash >>> this.depth) & 1) as 0 | 1];
  }
}

/**
 * A binary trie by hash whose leaves hold items of a limited weight: a node has children exactly when what is below it weighs more than the target,
 * is more than one item, and hashes have bits left. So equal items give equal leaves, in whatever order they came and went.
 */
export abstract class Trie<Items, Result> {
  readonly top: TrieNode<Items, Result>;
  /** Leaves without a result. */
  readonly changed: Set<TrieNode<Items, Result>>;
  /** Leaves whose notes may be other ones. */
  protected readonly noted = new Set<TrieNode<Items, Result>>();
  /** The names of leaves that were divided or joined. */
  #gone = new Set<string>();
  readonly #target: number;

  constructor(target: number) {
    this.top = new TrieNode<Items, Result>(0, 0, this.createItems());
    this.changed = new Set([this.top]);
    this.#target = target;
  }

  protected abstract createItems(): Items;

  /** Gives the items of a leaf to its new children, with their weight and count. */
  protected abstract divide(items: Items, node: TrieNode<Items, Result>): void;

  /** Adds the items of a leaf that is gone to others. */
  protected abstract join(into: Items, from: Items): void;

  /** The leaf for a hash. */
  protected leafFor(hash: number): TrieNode<Items, Result> {
    let node = this.top;
    while (node.children !== undefined) node = node.childFor(hash);
    return node;
  }

  /** Takes over that what a hash selects weighs more. @returns its leaf, which may be to be divided (`settle`) */
  protected pass(hash: number, weight: number, count: -1 | 0 | 1): TrieNode<Items, Result> {
    let node = this.top;
    for (;;) {
      node.weight += weight;
      node.count += count;
      node.result = undefined;
      if (node.children === undefined) break;
      if (this.#isLeaf(node)) {
        this.#join(node);
        break;
      }
      node = node.childFor(hash);
    }
    this.changed.add(node);
    return node;
  }

  /** Divides a leaf as long as it is too large. */
  protected settle(node: TrieNode<Items, Result>): void {
    if (this.#isLeaf(node)) return;
    for (const child of this.#fork(node)) this.settle(child);
  }

  /** Puts a compiled leaf into a trie that is put together from its leaves. @throws {Error} where there is one */
  protected placeLeaf(
    { depth, prefix }: LeafPlace,
    { weight, count, items, result }: Pick<TrieNode<Items, Result>, "weight" | "count" | "items" | "result">,
  ): void {
    let node = this.top;
    for (;;) {
      node.weight += weight;
      node.count += count;
      if (node.depth >= depth) break;
      if (node.children === undefined) this.#fork(node);
      node = node.childFor(prefix);
    }
    if (!this.changed.delete(node)) throw new Error("two leaves have one place");
    Object.assign(node, { items, result });
  }

  /** Gives a leaf children. */
  #fork(node: TrieNode<Items, Result>) {
    const { depth, prefix, items } = node;
    const children = [
      new TrieNode<Items, Result>(depth + 1, prefix, this.createItems()),
      new TrieNode<Items, Result>(depth + 1, prefix | (1 << depth), this.createItems()),
    ] as const;
    node.children = children;
    node.items = undefined;
    this.divide(items!, node);
    this.#gone.add(leafName(node));
    this.changed.delete(node);
    for (const child of children) this.changed.add(child);
    return children;
  }

  /** Takes over what a leaf was compiled to. */
  compiled(node: TrieNode<Items, Result>, result: Result): void {
    node.result = result;
    this.noted.add(node);
  }

  /** The leaves whose notes may be other ones since the last call. */
  takeNoted(): TrieNode<Items, Result>[] {
    // One that was joined since is no leaf any more.
    const noted = [...this.noted].filter((node) => this.leafFor(node.prefix) === node);
    this.noted.clear();
    return noted;
  }

  /** The names of leaves that were divided or joined since the last call. Some may be leaves again. */
  takeGone(): Iterable<string> {
    const gone = this.#gone;
    this.#gone = new Set();
    return gone;
  }

  /** Takes over that the results of all leaves are out of date. */
  changeAll(): void {
    const change = (node: TrieNode<Items, Result>) => {
      node.result = undefined;
      if (node.children === undefined) this.changed.add(node);
      else for (const child of node.children) change(child);
    };
    change(this.top);
  }

  #isLeaf({ weight, count, depth }: TrieNode<Items, Result>): boolean {
    return weight <= this.#target || count <= 1 || depth === MOST_BITS;
  }

  /** Makes a leaf of a node, whose children are gone. */
  #join(node: TrieNode<Items, Result>): void {
    const items = this.createItems();
    const gather = (from: TrieNode<Items, Result>) => {
      this.changed.delete(from);
      this.#gone.add(leafName(from));
      if (from.items !== undefined) this.join(items, from.items);
      for (const child of from.children ?? []) gather(child);
    };
    gather(node);
    node.children = undefined;
    node.items = items;
  }
}
