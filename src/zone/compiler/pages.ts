import {
  type Blob,
  type Branch,
  HeldBranch,
  PAGE_BITS,
  Page,
  type PageEntry,
} from "../generation/directory.ts";
import type { TrieNode } from "./trie/trie.ts";

/** What a leaf of a trie was compiled to; at a node with children, the page of its leaves. */
export interface Compiled<Content extends Blob> {
  readonly branch: Branch<Content>;
}

/** The directory of a trie whose leaves are all compiled, from its top node. Pages whose leaves did not change are taken over. In a step for each page. */
export function* pageOf<Content extends Blob>(
  top: TrieNode<unknown, Compiled<Content>>,
): Generator<void, Page<Content>> {
  const entries: PageEntry<Content>[] = [];
  const add = function* (node: TrieNode<unknown, Compiled<Content>>): Generator<void> {
    const slot = node.prefix >>> top.depth;
    const bits = node.depth - top.depth;
    if (node.children === undefined) entries.push({ slot, bits, branch: node.result!.branch });
    else if (bits === PAGE_BITS) {
      node.result ??= { branch: branchOf(yield* pageOf(node)) };
      entries.push({ slot, bits, branch: node.result.branch });
    } else for (const child of node.children) yield* add(child);
  };
  yield* add(top);
  yield;
  return Page.of(entries.sort((one, other) => one.slot - other.slot));
}

function branchOf<Content extends Blob>(page: Page<Content>): Branch<Content> {
  return new HeldBranch("page", page.hash, undefined, page);
}
