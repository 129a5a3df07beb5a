import { Trie, type TrieNode } from "./trie.ts";

/** What a trie holds. */
export interface TrieItem {
  /** 32 bits; the lowest ones select first. */
  readonly hash: number;
  /** About how many bytes it takes, in any unit; a function of its content alone. */
  weight: number;
}

/** A trie whose items are objects. */
export class HashTrie<Item extends TrieItem, Result> extends Trie<Set<Item>, Result> {
  protected override createItems(): Set<Item> {
    return new Set();
  }

  protected override divide(items: Set<Item>, node: TrieNode<Set<Item>, Result>): void {
    for (const item of items) {
      const child = node.childFor(item.hash);
      child.items!.add(item);
      child.weight += item.weight;
      child.count++;
    }
  }

  protected override join(into: Set<Item>, from: Set<Item>): void {
    for (const item of from) into.add(item);
  }

  /** Takes over that an item has other content, which `change` follows. */
  note({ hash }: Item): void {
    this.noteLeaf(hash);
  }

  add(item: Item): void {
    const leaf = this.pass(item.hash, item.weight, 1);
    this.itemsOf(leaf).add(item);
    this.settle(leaf);
  }

  remove(item: Item): void {
    this.itemsOf(this.pass(item.hash, -item.weight, -1)).delete(item);
  }

  /** Takes over an item's changed content. */
  change(item: Item, weight: number): void {
    const more = weight - item.weight;
    item.weight = weight;
    this.settle(this.pass(item.hash, more, 0));
  }
}
