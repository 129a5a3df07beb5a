import { describe, expect, it } from "vitest";
import type { ClusterFinding } from "../../../../src/merge/clusterset.ts";
import { type NameKey, NameKeys } from "../../../../src/zone/compiler/name-keys.ts";
import { leafName, leafOfName } from "../../../../src/zone/compiler/notes/compiler-notes.ts";
import { readNames, writeNames } from "../../../../src/zone/compiler/notes/names-note.ts";
import type { Compiled } from "../../../../src/zone/compiler/pages.ts";
import { StemCounts } from "../../../../src/zone/compiler/stems.ts";
import type { Branch } from "../../../../src/zone/generation/directory.ts";
import { addressId } from "../../../../src/zone/reverse/address-id.ts";
import { AddressList } from "../../../../src/zone/reverse/wanted-addresses.ts";
import type { Segment } from "../../../../src/zone/segment/segment.ts";
import { RecordedNotes } from "./recorded-notes.ts";

const BRANCH = { hash: "beef" } as Branch<Segment>;
const shop = { tree: "clusterset", labels: ["shop", "svc"], isEverywhere: false };
const host = { tree: "local:east", labels: ["shop", "svc"], isEverywhere: true };
const addresses = [addressId(Uint8Array.of(10, 0, 0, 1)), addressId(new Uint8Array(16).fill(7))];

const key = (text: string, weight: number, parts: Partial<NameKey["compiled"]> = {}): NameKey => ({
  ...{ key: text, hash: 0, weight, locals: [] },
  compiled: {
    block: { branch: BRANCH, start: weight, end: 2 * weight },
    ...{ stems: [shop], findings: [], addresses: AddressList.none },
    ...parts,
  },
});
const web = key("shop/web", 20, { stems: [host, shop], addresses: AddressList.of(addresses) });
const db = {
  ...key("shop/db", 6, { findings: [{} as ClusterFinding] }),
  locals: [{ clusterId: "east", kind: "service", key: "shop/db" }] as const,
};
const log = key("shop/log", 5, { stems: [] });

/** What is read from the note of these keys. */
function readBack(keys: readonly NameKey[], noteOf: (key: string) => number | undefined) {
  const state = { names: new NameKeys<Compiled<Segment>>(1e9), stems: new StemCounts() };
  const resumed = { sizes: new Map<string, number>(), reported: new Set<string>() };
  const notes = new RecordedNotes();
  notes.names = (hash) => ({ ...BRANCH, hash: `branch to ${hash}` });
  readNames("0.0", writeNames(keys, BRANCH, noteOf), state, notes, resumed);
  return { ...state, ...resumed };
}

describe("the note of a leaf of names", () => {
  it("has what each key was compiled to, its weight and its objects", () => {
    const { names } = readBack([web, db, log], () => undefined);
    const branch = { ...BRANCH, hash: "branch to beef" };
    expect(names.trie.top.result).toEqual({ branch });
    expect(names.trie.changed.size).toBe(0);
    const held = [...names.trie.top.items!];
    expect(held.map(({ hash: _, compiled, ...own }) => own)).toEqual(
      [web, db, log].map(({ hash: _, compiled, ...own }) => own),
    );
    for (const [index, { compiled }] of [web, db, log].entries()) {
      const { addresses: own, ...rest } = held[index]!.compiled!;
      const { block, stems } = compiled!;
      expect(rest).toEqual({ block: { ...block, branch }, stems, findings: [] });
      expect([...own]).toEqual([...compiled!.addresses]);
      expect(rest.block.branch).toBe(names.trie.top.result!.branch);
    }
  });

  it("counts the namespaces of its keys, each held once", () => {
    const { names, stems } = readBack([web, db, log], () => undefined);
    expect(stems.changed()).toEqual([shop, host]);
    const [first, second] = [...names.trie.top.items!].map(({ compiled }) => compiled!.stems);
    expect(second![0]).toBe(first![1]);
  });

  it("returns the keys with findings, and the numbers that the source needs, be they 0", () => {
    const sizes: Record<string, number> = { "shop/web": 4, "shop/log": 0 };
    const read = readBack([web, db, log], (text) => sizes[text]);
    expect([...read.sizes]).toEqual([
      ["shop/web", 4],
      ["shop/log", 0],
    ]);
    expect([...read.reported]).toEqual(["shop/db"]);
  });

  it("has a name from which its place follows", () => {
    for (const place of [
      { depth: 0, prefix: 0 },
      { depth: 12, prefix: 4001 },
    ])
      expect(leafOfName(leafName(place))).toEqual(place);
  });
});
