import { MOST_BITS } from "../../generation/directory.ts";
import { type LeafPlace, leafName } from "../notes/compiler-notes.ts";

/** A node of a trie: a leaf with items, or two nodes that the next bit of a hash selects. */
export class TrieNode<Items, Result> {
  readonly depth: number;
  /** The lowest `depth` bits that its items' hashes share. */
  readonly prefix: number;
  weight = 0;
  count = 0;
  /** Undefined for nodes that are no leaf, and for leaves that are not in memory: see `Trie.itemsOf`. */
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

/** Where leaves are kept, so that memory need not have them. */
export interface LeafRows<Items, Result> {
  /** Reads what was noted of a leaf. @throws {Error} if that is missing or damaged */
  read(leaf: TrieNode<Items, Result>): Items;
  /** Called with what is in memory no more. */
  drop?(items: Items): void;
  /** What leaves weigh at most that are in memory beside those that changed since they were noted. Default: some hundred leaves, in about 1 MB */
  readonly mostHeld?: number | undefined;
}

const MOST_HELD = 32_768;

/**
 * A binary trie by hash whose leaves hold items of a limited weight: a node has children exactly when what is below it weighs more than the target,
 * is more than one item, and hashes have bits left. So equal items give equal leaves, in whatever order they came and went.
 */
export abstract class Trie<Items, Result> {
  readonly top: TrieNode<Items, Result>;
  /** Leaves without a result. */
  readonly changed: Set<TrieNode<Items, Result>>;
  /** Leaves whose notes may be other ones, if leaves are kept in rows. */
  readonly #noted = new Set<TrieNode<Items, Result>>();
  /** The names of leaves that were divided or joined, likewise. */
  #gone = new Set<string>();
  readonly #target: number;
  readonly #rows: LeafRows<Items, Result> | undefined;
  /** Leaves in memory that are kept in rows, with their weights: the one that came last is the last one. */
  readonly #held = new Map<TrieNode<Items, Result>, number>();
  #heldWeight = 0;

  /** @param rows default: memory has all leaves */
  constructor(target: number, rows?: LeafRows<Items, Result>) {
    this.#rows = rows;
    this.top = new TrieNode<Items, Result>(0, 0, this.createItems());
    this.changed = new Set([this.top]);
    this.#target = target;
  }

  protected abstract createItems(): Items;

  /** Gives the items of a leaf to its new children, with their weight and count. */
  protected abstract divide(items: Items, node: TrieNode<Items, Result>): void;

  /** Adds the items of a leaf that is gone to others. */
  protected abstract join(into: Items, from: Items): void;

  /** Whether leaves are kept in rows. */
  get isStored(): boolean {
    return this.#rows !== undefined;
  }

  /** The items of a leaf, which is read if memory does not have it. */
  itemsOf(leaf: TrieNode<Items, Result>): Items {
    if (leaf.items === undefined) {
      leaf.items = this.#rows!.read(leaf);
      this.#hold(leaf);
    }
    return leaf.items;
  }

  /** Takes over that rows have a leaf as it is. */
  kept(leaf: TrieNode<Items, Result>): void {
    this.#noted.delete(leaf);
    this.#hold(leaf);
  }

  /** Lets the leaves go that came first. One that changed stays until it is noted. */
  #hold(leaf: TrieNode<Items, Result>): void {
    this.#heldWeight += leaf.weight - (this.#held.get(leaf) ?? 0);
    this.#held.delete(leaf);
    this.#held.set(leaf, leaf.weight);
    const { mostHeld = MOST_HELD } = this.#rows!;
    for (const [oldest, weight] of this.#held) {
      if (this.#heldWeight <= mostHeld || oldest === leaf) break;
      this.#held.delete(oldest);
      this.#heldWeight -= weight;
      if (oldest.items === undefined || this.changed.has(oldest) || this.#noted.has(oldest)) continue;
      this.#rows!.drop?.(oldest.items);
      oldest.items = undefined;
    }
  }

  /** All leaves, in no order. */
  *leaves(): Generator<TrieNode<Items, Result>> {
    const below = [this.top];
    for (let node = below.pop(); node !== undefined; node = below.pop())
      if (node.children === undefined) yield node;
      else below.push(...node.children);
  }

  /** The leaf for a hash. */
  leafFor(hash: number): TrieNode<Items, Result> {
    let node = this.top;
    while (node.children !== undefined) node = node.childFor(hash);
    return node;
  }

  /** Takes over that what a hash selects weighs more. @returns its leaf, which may be to be divided (`settle`) */
  protected pass(hash: number, weight: number, count: -1 | 0 | 1): TrieNode<Items, Result> {
    // What was found in the leaf stays there while others are read that are joined with it.
    if (this.isStored) this.changed.add(this.leafFor(hash));
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

  /** Puts a compiled leaf, which is kept in rows, into a trie that is put together from its leaves. @throws {Error} where there is one */
  place(
    { depth, prefix }: LeafPlace,
    { weight, count, result }: Pick<TrieNode<Items, Result>, "weight" | "count" | "result">,
  ): TrieNode<Items, Result> {
    let node = this.top;
    for (;;) {
      node.weight += weight;
      node.count += count;
      if (node.depth >= depth) break;
      if (node.children === undefined) this.#fork(node);
      node = node.childFor(prefix);
    }
    if (!this.changed.delete(node)) throw new Error("two leaves have one place");
    node.items = undefined;
    node.result = result;
    return node;
  }

  /** Gives a leaf children. */
  #fork(node: TrieNode<Items, Result>) {
    const { depth, prefix } = node;
    const items = this.itemsOf(node);
    const children = [
      new TrieNode<Items, Result>(depth + 1, prefix, this.createItems()),
      new TrieNode<Items, Result>(depth + 1, prefix | (1 << depth), this.createItems()),
    ] as const;
    node.children = children;
    node.items = undefined;
    this.divide(items, node);
    this.#leave(node);
    this.changed.delete(node);
    for (const child of children) this.changed.add(child);
    return children;
  }

  /** Takes over what a leaf was compiled to. */
  compiled(node: TrieNode<Items, Result>, result: Result): void {
    node.result = result;
    this.changed.delete(node);
    if (this.isStored) this.#noted.add(node);
  }

  /** Takes over that something of what a hash selects is another one, be it that nothing has to be compiled. */
  protected noteLeaf(hash: number): void {
    if (this.isStored) this.#noted.add(this.leafFor(hash));
  }

  /** The compiled leaves whose notes may be other ones since the last call. Each is to be noted when it is taken: afterwards it need not stay in memory. */
  *takeNoted(): Generator<TrieNode<Items, Result>> {
    for (const node of this.#noted) {
      this.#noted.delete(node);
      // One that was joined since is no leaf any more, and one that changed is noted when it is compiled.
      if (this.leafFor(node.prefix) === node && !this.changed.has(node)) yield node;
    }
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

  #leave(node: TrieNode<Items, Result>): void {
    if (this.isStored) this.#gone.add(leafName(node));
  }

  /** Makes a leaf of a node, whose children are gone. */
  #join(node: TrieNode<Items, Result>): void {
    const items = this.createItems();
    const gather = (from: TrieNode<Items, Result>) => {
      this.changed.delete(from);
      this.#leave(from);
      if (from.children === undefined) this.join(items, this.itemsOf(from));
      this.#heldWeight -= this.#held.get(from) ?? 0;
      this.#held.delete(from);
      for (const child of from.children ?? []) gather(child);
    };
    gather(node);
    node.children = undefined;
    node.items = items;
  }
}
