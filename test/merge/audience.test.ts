import { expect, it } from "vitest";
import { MOST_AUDIENCES } from "../../src/merge/audience.ts";
import { ABSENT_CLUSTER } from "../../src/merge/clusterset.ts";
import type { Grants } from "../../src/merge/grants.ts";
import type { MergeOptions } from "../../src/merge/merge-key.ts";
import { mergeEntries } from "../../src/names/compile-key.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { entriesOf } from "../names/entries-of.ts";
import { worldOf } from "../names/world-of.ts";
import { endpoints, exporting, importing, snapshot } from "./fixtures.ts";

/** Merges `shop/web`, as its key is compiled. */
const merge = (world: readonly ClusterSnapshot[], merging: MergeOptions = {}) =>
  mergeEntries("shop/web", entriesOf(world).service("shop", "web")!, worldOf(world, {}, merging).rules);

it("above the bound of audiences, a cluster counts as one that no export names, and exporters are told", () => {
  const many = Array.from({ length: 100 }, (_, index) => exporting(`c${index}`, { clusters: [] }));
  const { audiences, findings } = merge(many);
  expect(audiences.length).toBe(MOST_AUDIENCES);
  expect(audiences.find(({ views }) => views.includes(ABSENT_CLUSTER))!.service).toBeUndefined();
  expect(findings.filter(({ reason }) => reason === "TooMany").length).toBe(100);
});

it("importers are no audiences of their own: only exports tell them apart", () => {
  const importers = Array.from({ length: 100 }, (_, index) =>
    importing(`c${index}`, { ips: [`10.9.0.${index}`], ...(index % 2 === 0 && { managed: true }) }),
  );
  const { audiences } = merge([...importers, exporting("east", { clusters: ["c1"] })]);
  expect(audiences.length).toBe(2);
  const own = audiences.find(({ views }) => views.includes("c1"))!.service!;
  expect(own.byCluster.get("c1")!.addresses).toEqual(["10.9.0.1"]);
});

it.each<[string, Partial<ClusterSnapshot>, MergeOptions, number]>([
  ["of a cluster that may export it tells clusters apart", {}, {}, 2],
  ["of a cluster without the namespace counts for nothing", { namespaces: {} }, {}, 0],
  [
    "that push.credentials[].exports does not allow counts for nothing",
    {},
    { pins: { exports: new Map([["east", ["other"]]]) } },
    0,
  ],
])("an export to some clusters %s", (_, parts, merging, audiences) => {
  const east = { ...exporting("east", { clusters: ["west"] }), ...parts };
  expect(merge([east, exporting("west")], merging).audiences).toHaveLength(audiences);
});

it.each<[string, Grants | undefined, string[] | undefined]>([
  ["count with a grant, as far as they are of others", new Map([["hub", "*"]]), ["10.2.0.1"]],
  ["count no more without one", undefined, undefined],
])("endpoints that a cluster imports, where an export does not reach, %s", (_, grants, addresses) => {
  const [east, legacy] = ["10.1.0.1", "10.2.0.1"].map((address) => endpoints({ address }));
  const hub = importing("hub", { endpoints: { East: east!, legacy: legacy! } });
  const { audiences } = merge([exporting("east", { clusters: ["far"] }), hub, snapshot("west")], { grants });
  const west = audiences.find(({ views }) => views.includes(ABSENT_CLUSTER))!.service;
  expect(west?.outside.addresses).toEqual(addresses);
});
