import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ClusterFinding } from "../../../src/merge/clusterset.ts";
import { KeyFindings } from "../../../src/zone/compiler/key-findings.ts";
import { StemCounts, stemsOf } from "../../../src/zone/compiler/stems.ts";
import { HashTrie, type TrieItem } from "../../../src/zone/compiler/trie/hash-trie.ts";
import type { TrieNode } from "../../../src/zone/compiler/trie/trie.ts";
import { createContext } from "../../../src/zone/compiler/zone-context.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "../../../src/zone/options.ts";
import { NodeFlag } from "../../../src/zone/segment/layout.ts";
import { SegmentBuilder } from "../../../src/zone/segment/segment-builder.ts";
import { snapshot } from "../../merge/fixtures.ts";
import { source } from "../compile-worlds.ts";

const finding = (name: string) => ({ name }) as ClusterFinding;

describe("the findings of keys", () => {
  it("are between two other lists, and one list until something changes", () => {
    const findings = new KeyFindings();
    const [first, last] = [[finding("first")], [finding("last")]];
    const names = () => findings.joined(first, last).map(({ name }) => name);
    expect(names()).toEqual(["first", "last"]);
    findings.set("shop/one", [finding("a"), finding("b")]);
    findings.set("shop/empty", []);
    findings.set("shop/other", [finding("c")]);
    expect(["shop/one", "shop/empty"].map((key) => findings.has(key))).toEqual([true, false]);
    expect(names()).toEqual(["first", "a", "b", "c", "last"]);
    const joined = findings.joined(first, last);
    findings.set("shop/empty", []);
    expect(findings.joined(first, last)).toBe(joined);
    expect(findings.joined([], last).map(({ name }) => name)).toEqual(["a", "b", "c", "last"]);
    expect(findings.joined(first, []).map(({ name }) => name)).toEqual(["first", "a", "b", "c"]);
    findings.set("shop/one", []);
    expect(names()).toEqual(["first", "c", "last"]);
    findings.set("shop/other", [finding("d")]);
    expect(names()).toEqual(["first", "d", "last"]);
  });
});

describe("the stems of all keys", () => {
  const stem = (namespace: string, isEverywhere = false, tree = "clusterset") => ({
    ...{ tree, labels: [namespace, "svc"], isEverywhere },
  });

  it("are those that a key has; they changed if one came or went", () => {
    const counts = new StemCounts();
    expect(counts.all()).toEqual([]);
    expect(counts.changed()).toEqual([]);
    expect(counts.changed()).toBeUndefined();
    counts.add([stem("shop")]);
    counts.add([stem("ops"), stem("shop", true), stem("shop", false, "local:a")]);
    const all = [stem("ops"), stem("shop"), stem("shop", true), stem("shop", false, "local:a")];
    expect(counts.changed()).toEqual(all);
    expect(counts.all()).toEqual(all);
    counts.add([stem("shop")]);
    expect(counts.changed()).toBeUndefined();
    counts.remove([stem("shop")]);
    expect(counts.changed()).toBeUndefined();
    counts.remove([stem("shop")]);
    counts.add([stem("shop")]);
    expect(counts.changed()).toBeUndefined();
    counts.remove([stem("shop"), stem("ops")]);
    counts.add([stem("shop")]);
    expect(counts.changed()).toEqual(all.slice(1));
    counts.remove([stem("shop")]);
    counts.add([stem("data")]);
    expect(counts.changed()).toEqual([stem("data"), ...all.slice(2)]);
  });

  it("are held once, and so are lists of one", () => {
    const counts = new StemCounts();
    const first = counts.add([stem("shop")]);
    expect(counts.add([stem("shop")])).toBe(first);
    const both = counts.add([stem("shop"), stem("ops")]);
    expect(both).toEqual([stem("shop"), stem("ops")]);
    expect(both[0]).toBe(first[0]);
    expect(counts.add([])).toEqual([]);
  });

  it("are those of federations, too: a namespace and its federation are two labels", () => {
    const counts = new StemCounts();
    const stems = [
      ["a", "bc", "svc"],
      ["ab", "c", "svc"],
    ].map((labels) => ({ tree: "federation:fed.", labels, isEverywhere: false }));
    counts.add(stems);
    expect(counts.changed()).toEqual(stems);
  });

  it("of a key are the namespaces above its first names", () => {
    const builder = new SegmentBuilder(["clusterset", "local:a"]);
    const web = builder.nodes.child(0, "web.shop.svc");
    builder.nodes.child(web, "_tcp");
    const pod = builder.nodes.child(1, "10-0-0-1.shop.pod");
    builder.nodes.addFlags(pod, NodeFlag.everywhere);
    expect(stemsOf(builder)).toEqual([
      stem("shop"),
      { tree: "local:a", labels: ["shop", "pod"], isEverywhere: true },
    ]);
  });
});

describe("a trie", () => {
  interface Item extends TrieItem {
    readonly id: number;
  }
  type Node = TrieNode<Set<Item>, string>;
  const TARGET = 10;
  /** Hashes that often have many bits in common. */
  const hash = fc.oneof(fc.nat(7), fc.constantFrom(0xffff, 0x1ffff, 0x2ffff), fc.integer());
  const step = fc.record({
    do: fc.constantFrom("add", "add", "remove", "change"),
    id: fc.nat(9),
    hash,
    weight: fc.integer({ min: 1, max: 9 }),
  });

  /** What the leaves should be, from all items. */
  function expectedLeaves(items: readonly Item[], depth = 0, prefix = 0): unknown[] {
    const weight = items.reduce((sum, item) => sum + item.weight, 0);
    if (weight <= TARGET || items.length <= 1 || depth === 16)
      return [[depth, prefix, weight, items.map(({ id }) => id).sort()]];
    return [0, 1].flatMap((bit) =>
      expectedLeaves(
        items.filter((item) => ((item.hash >>> depth) & 1) === bit),
        ...([depth + 1, prefix | (bit << depth)] as const),
      ),
    );
  }
  const leavesOf = ({ depth, prefix, weight, items, children }: Node): unknown[] =>
    children?.flatMap(leavesOf) ?? [[depth, prefix, weight, Array.from(items!, ({ id }) => id).sort()]];
  const nodesOf = (node: Node): Node[] => [node, ...(node.children ?? []).flatMap(nodesOf)];

  it("has the leaves that its items give, whatever came and went; leaves that changed have no result, nor what is above", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const trie = new HashTrie<Item, string>(TARGET);
        const items = new Map<number, Item>();
        for (const { do: what, id, hash: own, weight } of steps) {
          const known = items.get(id);
          if (what === "add" && known === undefined) {
            const item = { id, hash: own, weight };
            items.set(id, item);
            trie.add(item);
          } else if (what === "change" && known !== undefined) trie.change(known, weight);
          else if (what === "remove" && known !== undefined) {
            items.delete(id);
            trie.remove(known);
          } else continue;
          expect(leavesOf(trie.top)).toEqual(expectedLeaves([...items.values()]));
          const leaves = nodesOf(trie.top).filter(({ children }) => children === undefined);
          expect(
            leaves.filter(({ result }) => result === undefined).every((leaf) => trie.changed.has(leaf)),
          ).toBe(true);
          expect(trie.changed.size).toBe(leaves.filter(({ result }) => result === undefined).length);
          const { hash: touched } = known ?? items.get(id)!;
          for (const { depth, prefix, result } of nodesOf(trie.top))
            if (((touched ^ prefix) & ((1 << depth) - 1)) === 0) expect(result).toBeUndefined();
          for (const node of nodesOf(trie.top)) trie.compiled(node, "done");
          trie.changed.clear();
        }
        trie.changeAll();
        expect(trie.changed.size).toBe(leavesOf(trie.top).length);
        expect(nodesOf(trie.top).every(({ result }) => result === undefined)).toBe(true);
      }),
    );
  });

  it("has a leaf for one item, whatever it weighs, and for items that share the 16 bits that are looked at", () => {
    const trie = new HashTrie<Item, string>(TARGET);
    trie.add({ id: 1, hash: 5, weight: TARGET + 1 });
    expect(leavesOf(trie.top)).toEqual([[0, 0, TARGET + 1, [1]]]);
    trie.add({ id: 2, hash: 0x10005, weight: 1 });
    expect(leavesOf(trie.top)).toContainEqual([16, 5, TARGET + 2, [1, 2]]);
  });

  it("has no changed leaves where a leaf was divided and joined since", () => {
    const trie = new HashTrie<Item, string>(TARGET);
    const items = [0, 1].map((hash) => ({ id: hash, hash, weight: 6 }));
    for (const item of items) trie.add(item);
    expect(trie.changed.size).toBe(2);
    trie.remove(items[1]!);
    expect([...trie.changed]).toEqual([trie.top]);
  });

  it("names the leaves that are gone, and those whose notes may be other ones", () => {
    const trie = new HashTrie<Item, string>(TARGET, { read: () => new Set() });
    const [one, other] = [
      { id: 1, hash: 0, weight: 6 },
      { id: 2, hash: 1, weight: 6 },
    ];
    trie.add(one);
    trie.compiled(trie.top, "whole");
    expect([...trie.takeNoted()]).toEqual([trie.top]);
    expect([...trie.takeNoted()]).toEqual([]);
    trie.add(other);
    expect([...trie.takeGone()]).toEqual(["0.0"]);
    expect([...trie.takeGone()]).toEqual([]);
    const leaves = [...trie.changed];
    for (const leaf of leaves) trie.compiled(leaf, "half");
    trie.remove(other);
    expect([...trie.takeGone()].sort()).toEqual(["0.0", "1.0", "1.1"]);
    expect([...trie.takeNoted()]).toEqual([]);

    const held = new HashTrie<Item, string>(TARGET);
    for (const item of [one, other]) held.add(item);
    for (const leaf of held.changed) held.compiled(leaf, "half");
    expect([[...held.takeGone()], [...held.takeNoted()]]).toEqual([[], []]);
  });

  it("is put together from its leaves, each once", () => {
    const items = [
      { id: 1, hash: 0, weight: 6 },
      { id: 2, hash: 1, weight: 6 },
      { id: 3, hash: 3, weight: 6 },
    ];
    const trie = new HashTrie<Item, string>(TARGET, {
      read: ({ result }) => new Set([items[Number(result)]!]),
    });
    for (const [index, [depth, prefix]] of (
      [
        [1, 0],
        [2, 1],
        [2, 3],
      ] as const
    ).entries())
      trie.place({ depth, prefix }, { weight: 6, count: 1, result: `${index}` });
    expect([...trie.leaves()].every((leaf) => leaf.items === undefined)).toBe(true);
    for (const leaf of trie.leaves()) trie.itemsOf(leaf);
    expect(leavesOf(trie.top)).toEqual(expectedLeaves(items));
    expect([trie.changed.size, trie.top.weight, trie.top.count]).toEqual([0, 18, 3]);
    const again = { weight: 0, count: 0, result: "again" };
    expect(() => trie.place({ depth: 1, prefix: 0 }, again)).toThrow("two leaves have one place");
  });
});

describe("what all segments are compiled with", () => {
  const context = (options: Partial<ZoneOptions>, withAbsent = false) =>
    createContext(
      { ...source([snapshot("east"), snapshot("west")]), withAbsent },
      { ...DEFAULT_ZONE_OPTIONS, ...options },
    );

  it("has localities once, and only with federations", () => {
    const localities = [{ region: "eu" }, { region: "eu", zone: "a" }, { region: "eu" }];
    expect(context({ localities }).localities).toEqual([]);
    expect(context({ localities, federations: [{ name: "fed", zone: "fed" }] }).localities).toEqual([
      ["region:eu", { clusterId: undefined, region: "eu", zones: [] }],
      ["zone:eu/a", { clusterId: undefined, region: "eu", zones: ["a"] }],
    ]);
  });

  it("has the views of clusters, and of absent ones if they have one", () => {
    expect([...context({}).clusterViews]).toEqual(["east", "west"]);
    expect([...context({}, true).clusterViews]).toEqual(["east", "west", "*"]);
  });

  it("has the lengths of a tree's shortest and canonical zone", () => {
    const { trees } = context({ zones: ["clusterset.local", "a.test", "long.example.test"] });
    expect(
      trees.map(({ key, zones, shortestZoneBytes, canonicalZoneBytes }) => [
        key,
        zones,
        shortestZoneBytes,
        canonicalZoneBytes,
      ]),
    ).toEqual([["clusterset", ["clusterset.local.", "a.test.", "long.example.test."], 8, 18]]);
  });
});
