import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Compiled, pageOf } from "../../../src/zone/compiler/pages.ts";
import { HashTrie, type TrieItem } from "../../../src/zone/compiler/trie/hash-trie.ts";
import type { TrieNode } from "../../../src/zone/compiler/trie/trie.ts";
import { type Blob, type Branch, HeldBranch, type Page } from "../../../src/zone/generation/directory.ts";

type Leaf = Compiled<Blob>;
type Node = TrieNode<Set<TrieItem>, Leaf>;

/** A trie in which each of these hashes has a leaf, if they differ in the lowest 16 bits. */
function trieOf(hashes: readonly number[]) {
  const trie = new HashTrie<TrieItem, Leaf>(1);
  for (const hash of hashes) trie.add({ hash, weight: 1 });
  return trie;
}

const leavesOf = (node: Node): Node[] => node.children?.flatMap(leavesOf) ?? [node];
/** A hash of 32 characters for each leaf, by its place and a version. */
const branchTo = ({ depth, prefix }: Node, version = 0): Branch<Blob> =>
  new HeldBranch<Blob>("segment", `${version}${depth}${prefix}`.padStart(32, "0"));

function compile(
  trie: HashTrie<TrieItem, Leaf>,
  version = 0,
): { readonly page: Page<Blob>; readonly steps: number } {
  for (const leaf of trie.changed) trie.compiled(leaf, { branch: branchTo(leaf, version) });
  trie.changed.clear();
  const compiling = pageOf(trie.top);
  for (let steps = 1; ; steps++) {
    const step = compiling.next();
    if (step.done === true) return { page: step.value, steps };
  }
}

const entriesOf = (page: Page<Blob>) =>
  page.entries.map(({ slot, bits, branch: { kind, hash } }) => [
    slot,
    bits,
    kind === "page" ? kind : Number(hash),
  ]);

describe("the directory of a trie", () => {
  it("has one entry for a single leaf", () => {
    const { page, steps } = compile(trieOf([5]));
    expect([entriesOf(page), steps]).toEqual([[[0, 0, 0]], 2]);
  });

  it("has the leaves by ascending slot, each with its bits", () => {
    const { page } = compile(trieOf([0b00, 0b01, 0b11, 0b111]));
    expect(entriesOf(page)).toEqual([
      [0b0, 1, 10],
      [0b01, 2, 21],
      [0b011, 3, 33],
      [0b111, 3, 37],
    ]);
  });

  it("has a page below it where leaves need more than 8 bits; its slots count from there", () => {
    const { page, steps } = compile(trieOf([0x00, 0x100, 0x301]));
    const [first] = page.entries;
    expect(page.entries.find(({ branch }) => branch.kind === "page")).toBe(first);
    expect([first!.slot, first!.bits, entriesOf(first!.branch.page!)]).toEqual([
      0,
      8,
      [
        [0, 1, 90],
        [1, 1, 9256],
      ],
    ]);
    expect(first!.branch.hash).toBe(first!.branch.page!.hash);
    expect(first!.branch.segment).toBeUndefined();
    expect(steps).toBe(3);
    for (const hash of [0x00, 0x100, 0x301, 0x55]) {
      const leaf = leavesOf(trieOf([0x00, 0x100, 0x301]).top).find(
        ({ depth, prefix }) => (hash & ((1 << depth) - 1)) === prefix,
      )!;
      expect(page.find(hash)!.hash).toBe(branchTo(leaf).hash);
    }
  });

  it("takes over the pages of leaves that did not change, in fewer steps", () => {
    const trie = trieOf([0x00, 0x100, 0x01, 0x101]);
    const first = compile(trie);
    const pageAt = ({ page }: typeof first, slot: number) =>
      page.entries.find((entry) => entry.slot === slot)!.branch;
    const item = { hash: 0x200, weight: 1 };
    trie.add(item);
    const second = compile(trie, 1);
    expect(pageAt(second, 1)).toBe(pageAt(first, 1));
    expect(pageAt(second, 0).hash).not.toBe(pageAt(first, 0).hash);
    expect([first.steps, second.steps]).toEqual([4, 3]);
    expect(compile(trie).page.hash).toBe(second.page.hash);
  });

  it("is after any changes the one that a new trie has", () => {
    const hash = fc.oneof(fc.nat(0xfff), fc.constantFrom(0, 0x100, 0x200, 0x300, 1, 0x101));
    const step = fc.record({
      add: fc.array(hash, { maxLength: 12 }),
      remove: fc.array(fc.nat(), { maxLength: 8 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        const trie = new HashTrie<TrieItem, Leaf>(1);
        const items: TrieItem[] = [];
        const versions = new Map<string, number>();
        const nameOf = ({ depth, prefix }: Node) => `${depth}/${prefix}`;
        for (const [version, { add, remove }] of steps.entries()) {
          for (const hash of add) {
            const item = { hash, weight: 1 };
            items.push(item);
            trie.add(item);
          }
          for (const index of remove)
            for (const item of items.splice(index % (items.length + 1), 1)) trie.remove(item);
          for (const leaf of trie.changed) versions.set(nameOf(leaf), version);
          const { page } = compile(trie, version);
          const fresh = trieOf(items.map((item) => item.hash));
          for (const leaf of leavesOf(fresh.top))
            fresh.compiled(leaf, { branch: branchTo(leaf, versions.get(nameOf(leaf))) });
          const expected = compile(fresh).page;
          expect([page.hash, page.byteLength]).toEqual([expected.hash, expected.byteLength]);
          expect(entriesOf(page)).toEqual(entriesOf(expected));
          for (const { hash } of items) expect(page.find(hash).hash).toBe(expected.find(hash).hash);
        }
      }),
    );
  });
});
