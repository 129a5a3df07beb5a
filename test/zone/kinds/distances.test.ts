import { expect, it } from "vitest";
import { Distances } from "../../../src/zone/kinds/tree-scope.ts";
import { endpoints, exporting, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";

const distances = new Distances([
  { clusterId: "here", region: "eu", zones: ["a", "b"] },
  { clusterId: "near", region: "eu", zones: ["b", "c"] },
  { clusterId: "unknown", zones: [] },
]);

it.each([
  ["an endpoint of the cluster in another zone", "here", "here", "c", 0],
  ["an endpoint in the same zone", "here", "near", "a", 1],
  ["an endpoint in another zone of the region", "here", "near", "c", 2],
  ["a cluster without a region, from another one", "unknown", "gone", undefined, 3],
] as const)("the distance of %s (federated service discovery, Objective)", (_, from, to, zone, expected) => {
  expect(distances.distance(distances.originOf(from), to, zone)).toBe(expected);
});

it("names in federation zones are ordered once for all clusters without a part that are in one place", () => {
  const members = Array.from({ length: 200 }, (_, index) => ({
    address: `10.1.0.${index}`,
    hostname: `h${index}`,
    zone: `eu-${index % 2}`,
  }));
  const topology = { region: "eu", zones: ["eu-0"] };
  const exporter = { ...exporting("a", { headless: true, endpoints: endpoints(...members) }), topology };
  const stepsWith = (others: number) => {
    const near = Array.from({ length: others }, (_, index) => snapshot(`c${index}`, { topology }));
    const world = worldOf([exporter, ...near], { federations: [{ name: "fed", zone: "federation" }] });
    return [...world.compile(world.treeOf("federation")!, "shop/web")].length;
  };
  expect(stepsWith(40)).toBe(stepsWith(2));
});
