import { expect, it } from "vitest";
import { Distances } from "../../../src/zone/kinds/tree-scope.ts";

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
