import { describe, expect, it } from "vitest";
import type { ClusterFinding } from "../../src/merge/clusterset.ts";
import {
  DEFAULT_ZONE_OPTIONS,
  planZones,
  type ZoneCluster,
  type ZoneOptions,
} from "../../src/zone/zone-plan.ts";

const cluster = (clusterId: string, zone?: string): ZoneCluster => ({
  clusterId,
  zones: [],
  zone: zone === undefined ? undefined : { name: zone, pods: "disabled" },
});

function plan(options: Partial<ZoneOptions>, clusters: readonly ZoneCluster[] = []) {
  const { trees, zones } = planZones(clusters, { ...DEFAULT_ZONE_OPTIONS, ...options }, []);
  return { trees: trees.map(({ key, kind }) => [key, kind]), zones };
}

describe("the plan of zones", () => {
  it("has the clusterset's zones as one tree, by their canonical names", () => {
    expect(plan({ zones: ["ClusterSet.local", "clusterset.local.", "eu.example"] })).toEqual({
      trees: [["clusterset", "clusterset"]],
      zones: [
        { name: "clusterset.local.", tree: 0, byView: [] },
        { name: "eu.example.", tree: 0, byView: [] },
      ],
    });
  });

  it("has a tree for each federation zone, which several federations may share", () => {
    const federations = [
      { name: "one", zone: "federation", domain: "fed.example" },
      { name: "two", zone: "Federation." },
      { name: "three" },
    ];
    const { trees } = planZones([], { ...DEFAULT_ZONE_OPTIONS, federations }, []);
    expect(trees.slice(1)).toEqual([
      {
        key: "federation:federation.",
        kind: "federation",
        zones: [
          { federation: "one", clients: "internal" },
          { federation: "two", clients: "internal" },
        ],
      },
      {
        key: "federation:fed.example.",
        kind: "federation",
        zones: [{ federation: "one", clients: "external" }],
      },
    ]);
  });

  it("has a tree for each cluster with a zone of its own, in its own view alone", () => {
    const clusters = [cluster("a"), cluster("b", "cluster.local"), cluster("c", "Cluster.Local.")];
    expect(plan({}, clusters)).toEqual({
      trees: [
        ["clusterset", "clusterset"],
        ["local:b", "cluster-local"],
        ["local:c", "cluster-local"],
      ],
      zones: [
        { name: "clusterset.local.", tree: 0, byView: [] },
        {
          name: "cluster.local.",
          tree: -1,
          byView: [
            [1, 1],
            [2, 2],
          ],
        },
      ],
    });
  });

  it("serves no cluster's own zone whose name another kind of zone has", () => {
    const options = { ...DEFAULT_ZONE_OPTIONS, federations: [{ name: "one", zone: "fed.test" }] };
    const findings: ClusterFinding[] = [];
    const clusters = [cluster("a", "Clusterset.Local"), cluster("b", "fed.test"), cluster("c", "own.test")];
    expect(planZones(clusters, options, findings).trees.map(({ key }) => key)).toEqual([
      "clusterset",
      "federation:fed.test.",
      "local:c",
    ]);
    expect(findings.map(({ clusterId, name, message }) => [clusterId, name, message])).toEqual([
      [
        "a",
        "Clusterset.Local",
        "clusterset.local. is a zone of the gateway: the cluster's own zone is not served",
      ],
      ["b", "fed.test", "fed.test. is a zone of the gateway: the cluster's own zone is not served"],
    ]);
  });

  it.each([
    [{ zones: [] }, "a gateway needs at least one zone"],
    [
      { federations: [{ name: "one", zone: "clusterset.local" }] },
      "the zone clusterset.local. is claimed by federation one and by another kind of zone",
    ],
    [
      { federations: [{ name: "one", zone: "fed", domain: "fed" }] },
      "the zone fed. is claimed by federation one and by another kind of zone",
    ],
  ])("rejects %j", (options, message) => {
    expect(() => plan(options)).toThrow(new RangeError(message));
  });
});
