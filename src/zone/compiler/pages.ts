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
  /** Undefined at a node whose leaves are part of a page. */
  readonly branch: Branch<Content> | undefined;
}

type Node<Content extends Blob> = TrieNode<unknown, Compiled<Content>>;

/** The result of a node inside a page that did not change since the page was made. */
const IN_PAGE = { branch: undefined };
/** The pages that were made last, by their top nodes. */
const lastPages = new WeakMap<object, unknown>();

/**
 * The directory of a trie whose leaves are all compiled, from its top node, in a step for each page. Pages whose leaves did not change are taken over, and of a page that was made
 * before only the nodes are visited below which something changed.
 */
export function* pageOf<Content extends Blob>(top: Node<Content>): Generator<void, Page<Content>> {
  const before = lastPages.get(top) as Page<Content> | undefined;
  const changed = before?.with(yield* entriesOf(top, true));
  const page = changed ?? Page.of((yield* entriesOf(top, false)).sort((one, other) => one.slot - other.slot));
  lastPages.set(top, page);
  yield;
  return page;
}

/** The entries of a node's page, in the order of the trie. @param onlyChanged whether those are left out that its last page has */
function* entriesOf<Content extends Blob>(
  top: Node<Content>,
  onlyChanged: boolean,
): Generator<void, PageEntry<Content>[]> {
  const nodes: Node<Content>[] = [];
  addNodes(top, top.depth, onlyChanged, nodes);
  const entries: PageEntry<Content>[] = [];
  for (const node of nodes) {
    if (node.children !== undefined) node.result ??= { branch: branchOf(yield* pageOf(node)) };
    const branch = node.result!.branch!;
    entries.push({ slot: node.prefix >>> top.depth, bits: node.depth - top.depth, branch });
  }
  return entries;
}

/** The nodes that a page has entries for: leaves, and tops of pages. A plain function: generators in each other made this a tenth of a change's cost. */
function addNodes<Content extends Blob>(
  node: Node<Content>,
  top: number,
  onlyChanged: boolean,
  into: Node<Content>[],
): void {
  if (node.children === undefined || node.depth - top === PAGE_BITS) {
    into.push(node);
    return;
  }
  if (node.depth > top) {
    if (onlyChanged && node.result !== undefined) return;
    node.result = IN_PAGE;
  }
  for (const child of node.children) addNodes(child, top, onlyChanged, into);
}

function branchOf<Content extends Blob>(page: Page<Content>): Branch<Content> {
  return new HeldBranch("page", page.hash, undefined, page);
}
