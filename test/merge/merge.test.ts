import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import { exported, exporting, imported, snapshot } from "./fixtures.ts";
import { createIndexed } from "./indexed.ts";

describe("KEP-1645 Terminology: namespace sameness", () => {
  it("one namespaced name is one service, others are others", () => {
    const a = snapshot("a", {
      namespaces: { shop: {}, "shop-b": {} },
      exports: { "shop-b/web": exported(), "shop/web": exported(), "shop/api": exported() },
    });
    const { services } = mergeClusterset([exporting("b"), a]);
    expect(services.map(({ namespace, name, exporters }) => [namespace, name, exporters])).toEqual([
      ["shop", "api", ["a"]],
      ["shop", "web", ["a", "b"]],
      ["shop-b", "web", ["a"]],
    ]);
  });

  it("what lies in a namespace that the cluster has no more is gone, with a finding", () => {
    const gone = { ...exporting("a"), namespaces: {}, imports: { "shop/db": imported() } };
    const merged = mergeClusterset([gone, exporting("b")]);
    expect(merged.services.map(({ name, exporters }) => [name, exporters])).toEqual([["web", ["b"]]]);
    expect(merged.findings).toMatchObject([
      { clusterId: "a", reason: "NoNamespace", kind: "ServiceImport", namespace: "shop", name: "db" },
      { clusterId: "a", reason: "NoNamespace", kind: "ServiceExport", namespace: "shop", name: "web" },
    ]);
  });
});

describe("KEP-1645 Importing Services: the last un-export removes the service", () => {
  it("while anyone exports, it is there", () => {
    const { merge } = createIndexed();
    expect(merge([exporting("a"), exporting("b")]).services).toHaveLength(1);
    expect(merge([snapshot("a"), exporting("b")]).services).toMatchObject([
      { exporters: ["b"], reportedBy: ["b"] },
    ]);
    expect(merge([snapshot("a"), snapshot("b")]).services).toEqual([]);
  });

  it("the next oldest decides after the oldest has left (Service Types, note)", () => {
    const older = exporting("a", { exportedAt: "2025-01-01T00:00:00Z", headless: true });
    expect(mergeClusterset([older, exporting("b")]).services[0]!.type).toBe("Headless");
    expect(mergeClusterset([exporting("b")]).services[0]!.type).toBe("ClusterSetIP");
  });
});

describe("clusters and findings", () => {
  it("clusters come sorted by code unit, with namespaces and topology", () => {
    const a = snapshot("a", { topology: { region: "eu", zones: ["b", "Z", "a"] } });
    const { clusters } = mergeClusterset([snapshot("b"), a, snapshot("a-b"), snapshot("a.b")]);
    expect(clusters.map(({ clusterId }) => clusterId)).toEqual(["a", "a-b", "a.b", "b"]);
    expect(clusters[0]).toEqual({
      clusterId: "a",
      namespaces: new Set(["shop"]),
      region: "eu",
      zones: ["Z", "a", "b"],
    });
    expect(clusters[1]).not.toHaveProperty("region");
  });

  it("findings pass through with their cluster id", () => {
    const finding = {
      reason: "NoService",
      kind: "ServiceExport",
      namespace: "shop",
      name: "x",
      message: "m",
    };
    const world = [snapshot("b", { findings: { k: finding } }), snapshot("a", { findings: { k: finding } })];
    expect(mergeClusterset(world).findings).toEqual([
      { ...finding, clusterId: "a" },
      { ...finding, clusterId: "b" },
    ]);
  });

  it("findings of a whole cluster come before those of its namespaces", () => {
    const finding = { reason: "InvalidTopology", kind: "Node", name: "x", message: "m" };
    for (const namespace of ["0", "shop"]) {
      const both = [{ ...finding, namespace }, finding];
      for (const [first, second] of [both, both.toReversed()]) {
        const findings = { first: first!, second: second! };
        expect(mergeClusterset([snapshot("a", { findings })]).findings).toEqual([
          { ...finding, clusterId: "a" },
          { ...finding, namespace, clusterId: "a" },
        ]);
      }
    }
  });

  it("no cluster makes an empty clusterset", () => {
    expect(mergeClusterset([])).toEqual({
      clusters: [],
      localZones: [],
      services: [],
      conflicts: [],
      findings: [],
    });
  });
});
