import fc from "fast-check";
import { expect, it } from "vitest";
import { audiencesOf, lackingIn, MOST_AUDIENCES, restrictionsOf } from "../../src/merge/audience.ts";
import { ABSENT_CLUSTER } from "../../src/merge/clusterset.ts";
import type { Contribution } from "../../src/merge/declaration.ts";
import { createPinTable, type Grants } from "../../src/merge/grants.ts";
import { mergeEntries } from "../../src/names/compile-key.ts";
import { entriesOf } from "../names/entries-of.ts";
import { worldOf } from "../names/world-of.ts";
import { endpoints, exported, exporting, imported, importing, snapshot } from "./fixtures.ts";

const CLUSTERS = ["a", "b", "c", "d"];
const reaches = fc
  .dictionary(fc.constantFrom(...CLUSTERS.slice(0, 3)), fc.subarray(CLUSTERS))
  .map((one) => new Map(Object.entries(one).map(([id, named]) => [id, new Set([id, ...named])])));

it("each cluster is in one audience, which lacks the exports that the cluster lacks", () => {
  fc.assert(
    fc.property(reaches, (given) => {
      const audiences = audiencesOf(given);
      expect(audiences.length > 0).toBe(given.size > 0);
      for (const view of given.size > 0 ? [...CLUSTERS, "unknown"] : []) {
        const named = audiences.filter(({ views }) => views.includes(view));
        expect(named.length).toBeLessThan(2);
        const own = named[0] ?? audiences.find(({ views }) => views.includes(ABSENT_CLUSTER));
        expect(own!.lacking).toEqual(lackingIn(given, view));
      }
    }),
  );
});

it("above the bound of audiences, a cluster counts as one that no export names, and exporters are told", () => {
  const many = Array.from({ length: 100 }, (_, index) => exporting(`c${index}`, { clusters: [] }));
  const entries = entriesOf(many).service("shop", "web")!;
  const { audiences, findings } = mergeEntries("shop/web", entries, worldOf(many).rules);
  expect(audiences.length).toBe(MOST_AUDIENCES);
  expect(audiences.find(({ views }) => views.includes(ABSENT_CLUSTER))!.service).toBeUndefined();
  expect(findings.filter(({ reason }) => reason === "TooMany").length).toBe(100);
});

it("importers are no audiences of their own: only exports tell them apart", () => {
  const importers = Array.from({ length: 100 }, (_, index) =>
    importing(`c${index}`, { ips: [`10.9.0.${index}`], ...(index % 2 === 0 && { managed: true }) }),
  );
  const world = [...importers, exporting("east", { clusters: ["c1"] })];
  const { audiences } = mergeEntries(
    "shop/web",
    entriesOf(world).service("shop", "web")!,
    worldOf(world).rules,
  );
  expect(audiences.length).toBe(2);
  const own = audiences.find(({ views }) => views.includes("c1"))!.service!;
  expect(own.byCluster.get("c1")!.addresses).toEqual(["10.9.0.1"]);
});

const reachOf = (contributions: readonly Contribution[], clusters: readonly string[], pinned = {}) =>
  restrictionsOf(
    "shop/web",
    { contributions, clusters: new Set(clusters) },
    createPinTable({ exports: new Map(Object.entries(pinned)) }),
  );
const east: Contribution = {
  clusterId: "east",
  exported: exported({ clusters: ["west"] }),
  imported: undefined,
};

it.each<[string, ReturnType<typeof reachOf>, string[]]>([
  ["of a cluster that may export it", reachOf([east], ["east"]), ["east"]],
  ["of a cluster without the namespace counts for nothing", reachOf([east], []), []],
  [
    "that push.credentials[].exports does not allow counts for nothing",
    reachOf([east], ["east"], { east: ["other"] }),
    [],
  ],
])("an export to some clusters %s", (_, found, exporters) => {
  expect([...found.keys()]).toEqual(exporters);
});

const hub = snapshot("hub", {
  imports: {
    "shop/web": imported({
      endpoints: { East: endpoints({ address: "10.1.0.1" }), legacy: endpoints({ address: "10.2.0.1" }) },
    }),
  },
});

it.each<[string, Grants | undefined, string[] | undefined]>([
  ["count with a grant, as far as they are of others", new Map([["hub", "*"]]), ["10.2.0.1"]],
  ["count no more without one", undefined, undefined],
])("endpoints that a cluster imports, where an export does not reach, %s", (_, grants, addresses) => {
  const world = [exporting("east", { clusters: ["far"] }), hub, snapshot("west")];
  const { audiences } = mergeEntries(
    "shop/web",
    entriesOf(world).service("shop", "web")!,
    worldOf(world, {}, { grants }).rules,
  );
  const west = audiences.find(({ views }) => views.includes(ABSENT_CLUSTER))!.service;
  expect(west?.outside.addresses).toEqual(addresses);
});
