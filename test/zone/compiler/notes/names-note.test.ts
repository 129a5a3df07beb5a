import { describe, expect, it } from "vitest";
import type { NameKey } from "../../../../src/zone/compiler/name-keys.ts";
import { leafName, leafOfName } from "../../../../src/zone/compiler/notes/compiler-notes.ts";
import { readNames, readNamesHead, writeNames } from "../../../../src/zone/compiler/notes/names-note.ts";
import { StemCounts } from "../../../../src/zone/compiler/stems.ts";
import type { Branch } from "../../../../src/zone/generation/directory.ts";
import { addressId } from "../../../../src/zone/reverse/address-id.ts";
import { AddressList } from "../../../../src/zone/reverse/wanted-addresses.ts";
import type { Segment } from "../../../../src/zone/segment/segment.ts";

const BRANCH = { hash: "beef" } as Branch<Segment>;
const shop = { tree: "clusterset", labels: ["shop", "svc"], isEverywhere: false };
const host = { tree: "local:east", labels: ["shop", "svc"], isEverywhere: true };
const addresses = [addressId(Uint8Array.of(10, 0, 0, 1)), addressId(new Uint8Array(16).fill(7))];

const key = (text: string, weight: number, parts: Partial<NameKey["compiled"]> = {}): NameKey => ({
  ...{ key: text, hash: 0, weight, locals: [] },
  compiled: {
    block: { branch: BRANCH, start: weight, end: 2 * weight },
    ...{ stems: [shop], addresses: AddressList.none },
    ...parts,
  },
});
const web = key("shop/web", 20, { stems: [host, shop], addresses: AddressList.of(addresses) });
const db = {
  ...key("shop/db", 6),
  locals: [{ clusterId: "east", kind: "service", key: "shop/db" }] as const,
};
const log = key("shop/log", 5, { stems: [] });

/** What is read from the note of these keys: first what is known of their leaf, and then the keys. */
function readBack(keys: readonly NameKey[], noteOf: (key: string) => number | undefined) {
  const stems = new StemCounts();
  const resumed = { sizes: new Map<string, number>(), reported: new Set<string>() };
  const text = writeNames(keys, BRANCH, { noteOf, hasFindings: (one) => one === "shop/db" });
  const head = readNamesHead(text, stems, resumed);
  const branches: string[] = [];
  const read = () =>
    readNames(text, stems, (hash) => {
      branches.push(hash);
      return BRANCH;
    });
  return { head, stems, ...resumed, read, branches };
}

describe("the note of a leaf of names", () => {
  it("has what each key was compiled to, its weight and its objects", () => {
    const { read, branches } = readBack([web, db, log], () => undefined);
    const keys = read();
    expect(branches).toEqual(["beef"]);
    expect(keys.map(({ compiled: _, ...own }) => own)).toEqual(
      [web, db, log].map(({ hash: _, compiled, ...own }) => own),
    );
    for (const [index, { compiled }] of [web, db, log].entries()) {
      const { addresses: own, ...rest } = keys[index]!.compiled!;
      const { block, stems } = compiled!;
      expect(rest).toEqual({ block, stems });
      expect([...own]).toEqual([...compiled!.addresses]);
      expect(rest.block.branch).toBe(BRANCH);
    }
  });

  it("counts the namespaces of its keys, each held once, however often the keys are read", () => {
    const { read, stems } = readBack([web, db, log], () => undefined);
    expect(stems.changed()).toEqual([shop, host]);
    const [first, second] = read().map(({ compiled }) => compiled!.stems);
    expect(second![0]).toBe(first![1]);
    expect(read().map(({ compiled }) => compiled!.stems)).toEqual([[host, shop], [shop], []]);
    for (const stem of [shop, shop, host]) stems.remove([stem]);
    expect(stems.changed()).toEqual([]);
  });

  it("has in its first line the weight of the leaf and the Services with dotted names", () => {
    const locals = [
      { clusterId: "east", kind: "service", key: "shop/web" },
      { clusterId: "east", kind: "pod", key: "shop/fd00::1" },
      { clusterId: "east", kind: "service", key: "shop/log" },
    ] as const;
    const { head } = readBack([web, { ...log, locals }], () => undefined);
    expect(head).toEqual({ hash: "beef", weight: 25, count: 2, dotted: [["east shop/web", "shop/log"]] });
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
