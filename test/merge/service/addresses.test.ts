import { describe, expect, it } from "vitest";
import { type AddressSource, mergeClusterset } from "../../../src/merge/merge.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, exporting, imported, importing, snapshot, web } from "../fixtures.ts";

const pod = endpoints({ address: "10.0.0.1" }, { address: "10.0.0.2", ready: false });

/** A cluster that exports and imports `shop/web`. */
function member(clusterId: string, ips: string[], parts = {}): ClusterSnapshot {
  return snapshot(clusterId, {
    exports: { "shop/web": exported({ endpoints: pod, ...parts }) },
    imports: { "shop/web": imported({ ips }) },
  });
}

function outside(world: ClusterSnapshot[], outsideOrder?: AddressSource[]) {
  return web(mergeClusterset(world, outsideOrder === undefined ? {} : { outsideOrder })).outside;
}

describe("KEP-1645 ClusterSetIP, for clients outside", () => {
  it("distinct spec.ips of all live imports", () => {
    const world = [member("b", ["172.16.0.1", "fd00::2"]), member("a", ["172.16.0.1"]), snapshot("c")];
    expect(outside(world)).toEqual({
      source: "ClusterSetIP",
      addresses: ["172.16.0.1", "fd00::2"],
      reportedBy: ["a", "b"],
      reporters: new Map([
        ["172.16.0.1", ["a", "b"]],
        ["fd00::2", ["b"]],
      ]),
    });
  });

  it("else load-balancer addresses and external IPs of the exporters, host names left out", () => {
    const world = [
      member("b", [], { externalIPs: ["192.0.2.9"] }),
      member("a", [], {
        loadBalancer: [{ hostname: "lb.example.com" }, { ip: "192.0.2.1" }, { ip: "2001:db8::1" }],
      }),
      member("c", []),
    ];
    expect(outside(world)).toEqual({
      source: "LoadBalancer",
      addresses: ["192.0.2.1", "2001:db8::1", "192.0.2.9"],
      reportedBy: ["a", "b"],
    });
  });

  it.each<[string, ClusterSnapshot, string, string[]]>([
    [
      "spec.ips",
      member("a", ["172.16.0.66"], { exportedAt: "2025-01-01T00:00:00Z" }),
      "Endpoint",
      ["10.0.0.1"],
    ],
    [
      "a load balancer",
      exporting("a", { exportedAt: "2025-01-01T00:00:00Z", loadBalancer: [{ ip: "192.0.2.66" }] }),
      "Endpoint",
      ["10.0.0.1"],
    ],
    [
      "an endpoint, which joins",
      exporting("a", { exportedAt: "2025-01-01T00:00:00Z", endpoints: endpoints({ address: "10.9.0.1" }) }),
      "Endpoint",
      ["10.0.0.1", "10.9.0.1"],
    ],
  ])("a younger export replaces no address of an older one: %s", (_, younger, source, addresses) => {
    const older = exporting("b", { exportedAt: "2024-01-01T00:00:00Z", endpoints: pod });
    expect(outside([younger, older])).toMatchObject({ source, addresses: expect.arrayContaining(addresses) });
    expect(outside([younger, older]).addresses).toHaveLength(addresses.length);
    const inside = web(mergeClusterset([younger, older, snapshot("c", { namespaces: { shop: {} } })]));
    expect((inside.byCluster.get("c") ?? inside.outside).source).toBe(source);
  });

  it("of exports of one time the source that comes first counts", () => {
    const world = [
      exporting("a", { endpoints: pod }),
      exporting("b", { loadBalancer: [{ ip: "192.0.2.1" }] }),
    ];
    expect(outside(world)).toMatchObject({ source: "LoadBalancer", addresses: ["192.0.2.1"] });
  });

  it("the oldest export with an address decides: one that has none leaves it to the next", () => {
    const world = [
      exporting("a", { exportedAt: "2024-01-01T00:00:00Z" }),
      exporting("b", { exportedAt: "2025-01-01T00:00:00Z", loadBalancer: [{ ip: "192.0.2.1" }] }),
      exporting("c", { exportedAt: "2026-01-01T00:00:00Z", endpoints: pod }),
    ];
    expect(outside(world)).toMatchObject({
      source: "LoadBalancer",
      addresses: ["192.0.2.1"],
      reportedBy: ["b"],
    });
  });

  it("else ready endpoints of every exporter, a headless one included", () => {
    const world = [
      exporting("a", { endpoints: pod }),
      exporting("b", { headless: true, endpoints: endpoints({ address: "10.1.0.1" }) }),
    ];
    expect(outside(world)).toEqual({
      source: "Endpoint",
      addresses: ["10.0.0.1", "10.1.0.1"],
      reportedBy: ["a", "b"],
    });
  });

  it("else none", () => {
    const world = [exporting("a", { endpoints: endpoints({ address: "10.0.0.2", ready: false }) })];
    expect(outside(world)).toEqual({ source: "none", addresses: [], reportedBy: [] });
  });

  it("a headless exporter has no load balancer, whatever its Service says", () => {
    const world = [exporting("a"), exporting("b", { headless: true, externalIPs: ["192.0.2.9"] })];
    expect(outside(world).source).toBe("none");
  });

  it.each<[AddressSource[], string[]]>([
    [["LoadBalancer", "ClusterSetIP"], ["192.0.2.9"]],
    [["Endpoint", "ClusterSetIP"], ["10.0.0.1"]],
    [["ClusterSetIP"], ["172.16.0.1"]],
    [[], []],
  ])("in the configured order %j", (order, addresses) => {
    const world = [member("a", ["172.16.0.1"], { externalIPs: ["192.0.2.9"] })];
    expect(outside(world, order).addresses).toEqual(addresses);
  });

  it("what is no address does not count, and is a finding", () => {
    const world = [member("a", ["none"], { externalIPs: ["300.0.0.1", "192.0.2.9"] })];
    expect(outside(world)).toEqual({ source: "LoadBalancer", addresses: ["192.0.2.9"], reportedBy: ["a"] });
    expect(mergeClusterset(world).findings).toEqual([
      {
        clusterId: "a",
        reason: "InvalidAddress",
        kind: "Service",
        namespace: "shop",
        name: "web",
        message: 'spec.externalIPs holds "300.0.0.1", which is not an IP address; it is left out',
      },
      {
        clusterId: "a",
        reason: "InvalidAddress",
        kind: "ServiceImport",
        namespace: "shop",
        name: "web",
        message: 'spec.ips holds "none", which is not an IP address; it is left out',
      },
    ]);
  });
});

describe("KEP-1645 ClusterSetIP, for a source cluster", () => {
  const views = (world: ClusterSnapshot[]) => Object.fromEntries(web(mergeClusterset(world)).byCluster);

  it("its own spec.ips, where they differ from outside", () => {
    expect(views([member("a", ["172.16.0.1"]), member("b", ["172.16.0.2"])])).toEqual({
      a: { source: "ClusterSetIP", addresses: ["172.16.0.1"], reportedBy: ["a"] },
      b: { source: "ClusterSetIP", addresses: ["172.16.0.2"], reportedBy: ["b"] },
    });
  });

  it("one address clusterset-wide needs no view", () => {
    expect(views([member("a", ["172.16.0.1"]), member("b", ["172.16.0.1"])])).toEqual({});
  });

  it("without spec.ips load-balancer addresses, never another cluster's spec.ips", () => {
    const world = [member("a", ["172.16.0.1"], { externalIPs: ["192.0.2.9"] }), snapshot("b")];
    expect(views(world)).toEqual({
      b: { source: "LoadBalancer", addresses: ["192.0.2.9"], reportedBy: ["a"] },
    });
  });

  it("else ready endpoints", () => {
    const world = [member("a", ["172.16.0.1"]), importing("b", { ips: ["none"] })];
    expect(views(world)).toEqual({ b: { source: "Endpoint", addresses: ["10.0.0.1"], reportedBy: ["a"] } });
  });

  it("else none, which is not what outside gets", () => {
    expect(views([importing("a", { ips: ["172.16.0.1"] }), snapshot("b")])).toEqual({
      b: { source: "none", addresses: [], reportedBy: [] },
    });
  });

  it("no view for a cluster without the namespace (Importing Services)", () => {
    expect(views([member("a", ["172.16.0.1"]), snapshot("b", { namespaces: {} })])).toEqual({});
  });

  it("headless services have endpoints, no addresses", () => {
    const service = web(mergeClusterset([member("a", ["172.16.0.1"], { headless: true }), snapshot("b")]));
    expect(service.outside).toEqual({ source: "none", addresses: [], reportedBy: [] });
    expect(service.byCluster.size).toBe(0);
  });
});
