import { expect, it } from "vitest";
import { Distances } from "../../../src/zone/kinds/tree-scope.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";

const distances = new Distances([
  { clusterId: "here", region: "eu", zones: ["a", "b"] },
  { clusterId: "near", region: "eu", zones: ["b", "c"] },
  { clusterId: "far", region: "us", zones: ["a"] },
  { clusterId: "unknown", zones: [] },
]);

it.each([
  ["the same cluster", "here", undefined, 0],
  ["the same cluster, whatever the endpoint's zone", "here", "c", 0],
  ["a zone in common", "near", undefined, 1],
  ["an endpoint in the same zone", "near", "a", 1],
  ["an endpoint in another zone of the region", "near", "c", 2],
  ["another region, although a zone has the same name", "far", undefined, 3],
  ["a cluster without a region", "unknown", undefined, 3],
  ["a cluster that is not live", "gone", undefined, 3],
] as const)("the distance to %s (federated service discovery, Objective)", (_, clusterId, zone, expected) => {
  expect(distances.distance(distances.originOf("here"), clusterId, zone)).toBe(expected);
});

it("two clusters without a region are as far apart as any others", () => {
  expect(distances.distance(distances.originOf("unknown"), "gone")).toBe(3);
  expect(distances.originOf("gone")).toEqual({ clusterId: "gone", region: undefined, zones: [] });
});

it("names in federation zones are ordered once for all clusters without a part that are in one place", () => {
  const members = Array.from({ length: 200 }, (_, index) => ({
    address: `10.1.0.${index}`,
    hostname: `h${index}`,
    zone: `eu-${index % 2}`,
  }));
  const shop = exported({ headless: true, endpoints: endpoints(...members) });
  const exporter = snapshot("a", {
    topology: { region: "eu", zones: ["eu-0"] },
    exports: { "shop/web": shop },
  });
  const stepsWith = (others: number) => {
    const snapshots = Array.from({ length: others }, (_, index) =>
      snapshot(`c${index}`, { topology: { region: "eu", zones: [`eu-${index % 2}`] } }),
    );
    const world = worldOf([exporter, ...snapshots], { federations: [{ name: "fed", zone: "federation" }] });
    return [...world.compile(world.treeOf("federation")!, "shop/web")].length;
  };
  expect(stepsWith(40)).toBe(stepsWith(2));
});
