import { describe, expect, it } from "vitest";
import {
  readReverse,
  readReverseHead,
  writeReverse,
} from "../../../../src/zone/compiler/notes/reverse-note.ts";
import type { Branch } from "../../../../src/zone/generation/directory.ts";
import { type AddressId, addressId } from "../../../../src/zone/reverse/address-id.ts";
import { AddressRecord } from "../../../../src/zone/reverse/address-record.ts";
import { AddressLeaf, type AddressValue, isFresh } from "../../../../src/zone/reverse/address-trie.ts";
import { HeldSources } from "../../../../src/zone/reverse/held-sources.ts";
import type { CandidateSource, ReverseCandidate } from "../../../../src/zone/reverse/reverse-candidate.ts";
import type { ReverseSegment } from "../../../../src/zone/segment/reverse-segment.ts";

const BRANCH = { hash: "beef" } as Branch<ReverseSegment>;
const v4 = (last: number) => addressId(Uint8Array.of(10, 0, 0, last));

/** A source of the clusterset: `<name>.shop.svc` is above its names. */
function source(name: string, parts: Partial<CandidateSource> = {}): CandidateSource {
  return {
    ...{ namespace: "shop", name, tree: "clusterset", view: undefined, rank: 2, ttl: 5 },
    ...{ since: Date.UTC(2026, 0, 1), clusters: ["east"], claimants: ["east", "west"] },
    above: [name, "shop", "svc"],
    ...parts,
  };
}

function leafOf(values: readonly (readonly [AddressId, AddressValue])[]): AddressLeaf {
  const leaf = new AddressLeaf();
  for (const [id, value] of values) leaf.tableFor(id).insert(leaf.tableFor(id).size, id, value);
  return leaf;
}

const fieldsOf = (one: CandidateSource): CandidateSource => ({
  ...{ namespace: one.namespace, name: one.name, tree: one.tree, view: one.view, rank: one.rank },
  ...{ since: one.since, ttl: one.ttl, clusters: one.clusters, above: one.above, claimants: one.claimants },
});
const candidateFields = ({ source: own, label }: ReverseCandidate) => ({ source: fieldsOf(own), label });

function valueFields(value: AddressValue): unknown {
  if (value instanceof AddressRecord)
    return [value.candidates.map(candidateFields), value.winners.map(candidateFields), value.isOrdinary];
  return isFresh(value) ? candidateFields(value) : fieldsOf(value);
}

const valuesIn = (leaf: AddressLeaf) =>
  Array.from(leaf.inOrder(), ({ table, index }) => [table.idAt(index), table.values[index]!] as const);
const contentOf = (leaf: AddressLeaf) => valuesIn(leaf).map(([id, value]) => [id, valueFields(value)]);

const write = (leaf: AddressLeaf) => writeReverse({ weight: 7, count: 3 }, leaf, BRANCH);
const read = (text: string) =>
  readReverse(text, new HeldSources(), (hash) => ({ ...BRANCH, hash: `branch to ${hash}` }));
const restOf = (leaf: AddressLeaf) => JSON.parse(write(leaf).split("\n")[1]!) as unknown[][];
const kindsIn = (leaf: AddressLeaf) => restOf(leaf)[0];
const sourcesIn = (leaf: AddressLeaf) => restOf(leaf)[1];

describe("the note of a leaf of addresses", () => {
  it("has its addresses in their order, IPv4 and IPv6, each with its source", () => {
    const web = source("web");
    const leaf = leafOf([
      [v4(1), web],
      [v4(2), source("db", { view: "east", rank: 0, ttl: 7 })],
      [addressId(Uint8Array.from({ length: 16 }, (_, index) => index + 0xf0)), web],
    ]);
    const again = read(write(leaf));
    expect(contentOf(again)).toEqual(contentOf(leaf));
    expect(valuesIn(again)[2]![1]).toBe(valuesIn(again)[0]![1]);
    expect(again.branches.map(({ hash }) => hash)).toEqual(["branch to beef"]);
  });

  it.each<[string, Partial<CandidateSource>]>([
    ["that is the service itself", { above: ["shop", "svc"] }],
    ["of an endpoint", { above: ["web", "shop", "svc"] }],
    ["of an endpoint of one cluster", { above: ["east", "web", "shop", "svc"] }],
    ["of a service named like its namespace", { name: "shop", above: ["shop", "shop", "svc"] }],
    ["of a service that is named svc", { name: "svc", above: ["svc", "shop", "svc"] }],
    ["of another namespace's name", { above: ["web", "ops", "svc"] }],
    ["that is not below svc", { above: ["web", "shop", "pod"] }],
    ["without labels above", { above: [] }],
    ["below svc alone", { above: ["svc"] }],
    ["of one view", { view: "east" }],
    ["without claimants", { claimants: [] }],
    ["of a time of its own", { since: 0 }],
    ["of an unknown time, which is younger than all", { since: Number.POSITIVE_INFINITY }],
    ["that is older than all", { since: Number.NEGATIVE_INFINITY }],
  ])("keeps a name %s", (_, parts) => {
    const leaf = leafOf([[v4(1), source("web", parts)]]);
    expect(contentOf(read(write(leaf)))).toEqual(contentOf(leaf));
  });

  it("has a fresh address as its source: its segment has the label by then", () => {
    const leaf = leafOf([[v4(1), { source: source("web"), label: "a" }]]);
    expect(contentOf(read(write(leaf)))).toEqual([[v4(1), fieldsOf(source("web"))]]);
  });

  it("has the candidates of a contested address and those that won, with their labels", () => {
    const [web, db] = [source("web"), source("db", { view: "east" })];
    const [one, other] = [
      { source: web, label: undefined },
      { source: db, label: "a" },
    ];
    const leaf = leafOf([
      [v4(1), new AddressRecord(v4(1), [one, other], [other])],
      [v4(2), new AddressRecord(v4(2), [], [])],
    ]);
    const again = read(write(leaf));
    expect(contentOf(again)).toEqual(contentOf(leaf));
    expect((valuesIn(again)[0]![1] as AddressRecord).id).toBe(v4(1));
    expect(sourcesIn(leaf)).toHaveLength(2);
  });

  it("says once what services have in common, whatever their names and namespaces are", () => {
    const named = (namespace: string, name: string) =>
      source(name, { namespace, above: ["east", name, namespace, "svc"] });
    const leaf = leafOf([
      [v4(1), named("shop", "web")],
      [v4(2), named("shop", "db")],
      [v4(3), named("ops", "db")],
    ]);
    expect(kindsIn(leaf)).toEqual([
      ["clusterset", null, 2, 5, ["east"], ["east", "west"], ["east", 0, 1, "svc"]],
    ]);
    expect(sourcesIn(leaf)).toEqual([
      ["shop", "web", Date.UTC(2026, 0, 1), 0],
      ["shop", "db", Date.UTC(2026, 0, 1), 0],
      ["ops", "db", Date.UTC(2026, 0, 1), 0],
    ]);
    const endpoints = ["web", "db"].map((name, index) => [v4(index), source(name)] as const);
    expect(kindsIn(leafOf(endpoints))).toEqual([
      ["clusterset", null, 2, 5, ["east"], ["east", "west"], [0, 1, "svc"]],
    ]);
    const other = source("log", { ttl: 9 });
    expect(kindsIn(leafOf([...valuesIn(leaf), [v4(4), other]]))).toHaveLength(2);
    expect(contentOf(read(write(leaf)))).toEqual(contentOf(leaf));
  });

  it("has in its first line what is known of a leaf that is not read: whether an address of it is contested, too", () => {
    const ordinary = leafOf([[v4(1), source("web")]]);
    const known = { hash: "beef", weight: 7, count: 3 };
    expect(readReverseHead(write(ordinary))).toEqual({ ...known, hasRecords: false });
    const contested = leafOf([
      [v4(1), source("web")],
      [v4(2), new AddressRecord(v4(2), [], [])],
    ]);
    expect(readReverseHead(write(contested))).toEqual({ ...known, hasRecords: true });
  });
});
