import { expect, test } from "vitest";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot, LocalService } from "../../../src/snapshot/schema.ts";
import { openGateway, regional } from "../fake-stages.ts";
import { putSnapshot } from "../pushes.ts";

const SHOP: Visibility = { namespaces: ["shop"] };

const local: LocalService = {
  createdAt: "2026-01-01T00:00:00Z",
  serviceType: "ClusterIP",
  headless: false,
  ports: [],
  endpoints: {},
};

const west: ClusterSnapshot = {
  ...regional("west", "eu"),
  topology: { region: "eu", zones: ["b", "c", "a"] },
  clusterZone: { name: "cluster.local", pods: "verified" },
  namespaces: { shop: {}, secret: {} },
  services: { "shop/web": local, "secret/db": local },
  pods: { "shop/10.0.0.1": {}, "secret/10.0.0.2": {} },
};
const { topology: _, ...bare } = regional("east", "");

/** A gateway with a scope, to which both clusters were pushed: what each compilation read. */
async function openBoth() {
  const { gateway, stages, done } = await openGateway({ scopes: [SHOP] });
  await done(Promise.all([putSnapshot(gateway, west), putSnapshot(gateway, bare)]));
  const [all, shop] = stages.compiled.slice(-2);
  return { all: all!, shop: shop! };
}

test("zones are compiled from all of a cluster, with its zones of the cloud in order", async () => {
  const { all } = await openBoth();
  expect(all.map(({ clusterId }) => clusterId)).toEqual(["east", "west"]);
  const [, source] = all;
  expect([source!.region, source!.zones]).toEqual(["eu", ["a", "b", "c"]]);
  expect([...source!.namespaces.keys()].sort()).toEqual(["secret", "shop"]);
  const { zone, services, pods } = source!.localZone!;
  expect(zone.name).toBe("cluster.local");
  expect([...services.keys()].sort()).toEqual(["secret/db", "shop/web"]);
  expect(services.get("secret/db")).toEqual(local);
  expect(services.get("secret/none")).toBeUndefined();
  expect([...pods.keys()].sort()).toEqual(["secret/10.0.0.2", "shop/10.0.0.1"]);
  expect([pods.has("secret/10.0.0.2"), pods.has("secret/10.0.0.3")]).toEqual([true, false]);
});

test("in a scope zones are compiled from what exists there", async () => {
  const { shop } = await openBoth();
  const source = shop.find(({ clusterId }) => clusterId === "west")!;
  expect([...source.namespaces.keys()]).toEqual(["shop"]);
  const { services, pods } = source.localZone!;
  expect([...services.keys()]).toEqual(["shop/web"]);
  expect([services.get("shop/web"), services.get("secret/db")]).toEqual([local, undefined]);
  expect(services.get("shop/none")).toBeUndefined();
  expect([...pods.keys()]).toEqual(["shop/10.0.0.1"]);
  expect(["shop/10.0.0.1", "secret/10.0.0.2", "shop/10.0.0.9"].map(pods.has)).toEqual([true, false, false]);
});

test("a cluster without topology and without a zone of its own has neither", async () => {
  const { all, shop } = await openBoth();
  for (const [east] of [all, shop])
    expect(east).toMatchObject({ region: undefined, zones: [], localZone: undefined });
});
