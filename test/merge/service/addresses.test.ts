import { describe, expect, it } from "vitest";
import type { AddressSource } from "../../../src/merge/addresses.ts";
import { rulesOf } from "../../../src/merge/merge-key.ts";
import { mergeService } from "../../../src/merge/service.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { day, endpoints, exported, exporting, imported, importing, snapshot, web } from "../fixtures.ts";
import { mergeClusterset } from "../merged.ts";

/** Where they listen. */
const LISTENING = [{ name: "http", protocol: "TCP", port: 8080 }];
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

  it("of load balancers without an address the host name of the oldest one that is a name, for all views", () => {
    const world = [
      exporting("a", { exportedAt: "2026-01-01T00:00:00Z", loadBalancer: [{ hostname: "a.example" }] }),
      exporting("b", { exportedAt: "2025-01-01T00:00:00Z", loadBalancer: [{ hostname: "192.0.2.1" }] }),
      exporting("c", {
        exportedAt: "2025-06-01T00:00:00Z",
        endpoints: pod,
        loadBalancer: [{ hostname: "c..example" }, { hostname: "c.example" }],
      }),
    ];
    const merged = mergeClusterset(world);
    expect(web(merged).outside).toEqual({
      source: "LoadBalancer",
      addresses: [],
      hostname: "c.example",
      reportedBy: ["c"],
    });
    expect(web(merged).byCluster.size).toBe(0);
    expect(merged.findings.map(({ clusterId, reason, message }) => [clusterId, reason, message])).toEqual([
      [
        "a",
        "HostNameLeftOut",
        'the load balancer\'s host name "a.example" cannot be a CNAME record beside the one to c.example (RFC 1034 section 3.6.2): no client is led to it until it has an address',
      ],
      [
        "b",
        "InvalidHostName",
        'the load balancer\'s host name "192.0.2.1" is an address, not a DNS name: it is left out',
      ],
      [
        "c",
        "InvalidHostName",
        'the load balancer\'s host name "c..example" is not a DNS name ("c..example" has an empty label): it is left out',
      ],
    ]);
  });

  it.each([
    [
      "an address counts before the host name of a younger load balancer",
      "2026",
      { addresses: ["192.0.2.1"] },
      "a",
      "HostNameLeftOut",
    ],
    [
      "an address counts before a host name of the same age",
      "2025",
      { addresses: ["192.0.2.1"] },
      "a",
      "HostNameLeftOut",
    ],
    [
      "a host name counts before the address of a younger load balancer",
      "2024",
      { hostname: "a.example" },
      "b",
      "AddressLeftOut",
    ],
  ])("%s, and a finding says so", (_, year, outside, clusterId, reason) => {
    const world = [
      exporting("a", {
        exportedAt: `${year}-01-01T00:00:00Z`,
        endpoints: pod,
        loadBalancer: [{ hostname: "a.example" }],
      }),
      exporting("b", { exportedAt: "2025-01-01T00:00:00Z", loadBalancer: [{ ip: "192.0.2.1" }] }),
    ];
    const merged = mergeClusterset(world);
    expect(web(merged).outside).toMatchObject({ source: "LoadBalancer", ...outside });
    expect(merged.findings).toMatchObject([{ clusterId, reason }]);
  });

  it.each<[string, object, string[]]>([
    ["a second host name", { loadBalancer: [{ hostname: "a.example" }, { hostname: "b.example" }] }, ["b"]],
    [
      "a host name beside an external IP",
      { externalIPs: ["192.0.2.1"], loadBalancer: [{ hostname: "a.example" }] },
      ["a"],
    ],
    [
      "a host name beside the address of another load balancer",
      { loadBalancer: [{ ip: "192.0.2.1", hostname: "a.example" }, { hostname: "b.example" }] },
      ["b"],
    ],
    [
      "a host name of a load balancer with an address",
      { loadBalancer: [{ ip: "192.0.2.1", hostname: "a.example" }] },
      [],
    ],
    ["one host name twice", { loadBalancer: [{ hostname: "a.example" }, { hostname: "a.example" }] }, []],
  ])("%s in one cluster has a finding where no client is led to it", (_, parts, leftOut) => {
    const { findings } = mergeClusterset([exporting("a", parts)]);
    expect(findings.map(({ reason, message }) => [reason, /"(\w+)\.example"/.exec(message)?.[1]])).toEqual(
      leftOut.map((name) => ["HostNameLeftOut", name]),
    );
  });

  it.each([
    ["in a zone of this gateway", "web.shop.svc.clusterset.local"],
    ["an address", "192.0.2.1"],
  ])("a host name that is %s leaves the endpoints, with one finding", (_, hostname) => {
    const rules = rulesOf({}, ["clusterset.local."]);
    const { service, findings } = mergeService(
      { namespace: "shop", name: "web" },
      [
        {
          clusterId: "a",
          exported: exported({ endpoints: pod, loadBalancer: [{ hostname }] }),
          imported: undefined,
        },
      ],
      [],
      rules,
    );
    expect(service.outside).toMatchObject({ source: "Endpoint", addresses: ["10.0.0.1"] });
    expect(service.shards).toMatchObject([{ externalNames: [] }]);
    expect(findings.map(({ reason }) => reason)).toEqual(["InvalidHostName"]);
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
      ports: LISTENING,
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

  it.each<[AddressSource[], string[]]>([
    [["LoadBalancer", "ClusterSetIP"], ["192.0.2.9"]],
    [["LoadBalancer", "Endpoint", "ClusterSetIP"], ["192.0.2.9"]],
    [["ClusterSetIP", "LoadBalancer"], ["172.16.0.1"]],
  ])(
    "in the configured order %j, beside an importer that speaks for all and exports nothing",
    (order, addresses) => {
      const hub = importing("hub", { ips: ["172.16.0.1"] });
      const world = [exporting("a", { externalIPs: ["192.0.2.9"], endpoints: pod }), hub];
      const merged = mergeClusterset(world, { outsideOrder: order, grants: new Map([["hub", "*"]]) });
      expect(web(merged).outside.addresses).toEqual(addresses);
    },
  );

  it("an importer that speaks for another cluster replaces no load balancer by endpoints", () => {
    const hub = importing("hub", { endpoints: { legacy: endpoints({ address: "10.9.0.1" }) } });
    const world = [exporting("a", { externalIPs: ["192.0.2.9"] }), hub, snapshot("c")];
    const { outside, byCluster } = web(
      mergeClusterset(world, { grants: new Map([["hub", new Set(["legacy"])]]) }),
    );
    expect([outside, byCluster.get("c") ?? outside].map(({ addresses }) => addresses)).toEqual([
      ["192.0.2.9"],
      ["192.0.2.9"],
    ]);
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
    const given = { source: "Endpoint", addresses: ["10.0.0.1"], reportedBy: ["a"], ports: LISTENING };
    expect(views(world)).toEqual({ b: given });
  });

  it("else none, which is not what outside gets", () => {
    expect(views([importing("a", { ips: ["172.16.0.1"] }), snapshot("b")])).toEqual({
      b: { source: "none", addresses: [], reportedBy: [] },
    });
  });

  it("no view for a cluster without the namespace (Importing Services)", () => {
    expect(views([member("a", ["172.16.0.1"]), snapshot("b", { namespaces: {} })])).toEqual({});
  });
});

const one = (address: string) => endpoints({ address });

/** The endpoints as `<source cluster> <address>`, with `(<reporter>)` if another cluster reports it. */
function list(...world: ClusterSnapshot[]): string[] {
  return web(mergeClusterset(world)).endpoints.map(
    ({ clusterId, address, reportedBy }) =>
      `${clusterId} ${address}${reportedBy === clusterId ? "" : ` (${reportedBy})`}`,
  );
}

describe("KEP-1645 Service Types: endpoints of a headless service", () => {
  it("those of all exporters, sorted by cluster id, address and hostname", () => {
    const [first, second] = [
      exporting("b", {
        headless: true,
        endpoints: endpoints(
          { address: "10.0.0.9", hostname: "web-1" },
          { address: "10.0.0.9", hostname: "web-0" },
          { address: "10.0.0.10" },
        ),
      }),
      exporting("a", { headless: true, endpoints: one("10.9.0.1") }),
    ];
    const merged = web(mergeClusterset([first, second]));
    expect(
      merged.endpoints.map(({ clusterId, address, hostname }) => [clusterId, address, hostname]),
    ).toEqual([
      ["a", "10.9.0.1", undefined],
      ["b", "10.0.0.10", undefined],
      ["b", "10.0.0.9", "web-0"],
      ["b", "10.0.0.9", "web-1"],
    ]);
  });

  it("keeps hostname, zone and the ports that endpoints listen on", () => {
    const world = exporting("a", {
      headless: true,
      endpoints: endpoints({ address: "10.0.0.1", hostname: "web-0", zone: "a-1" }),
    });
    expect(web(mergeClusterset([world])).endpoints).toEqual([
      {
        clusterId: "a",
        reportedBy: "a",
        address: "10.0.0.1",
        hostname: "web-0",
        zone: "a-1",
        ports: [{ name: "http", protocol: "TCP", port: 8080 }],
      },
    ]);
  });

  it("those of exporters that are not headless as well, and the reverse", () => {
    const old = exporting("a", { headless: true, endpoints: one("10.0.0.1") });
    const young = exporting("b", { exportedAt: day(2), endpoints: one("10.1.0.1") });
    expect(list(old, young)).toEqual(["a 10.0.0.1", "b 10.1.0.1"]);
  });

  it.each([
    ["ready", { ready: true }, false, true],
    ["no condition", {}, false, true],
    ["not ready", { ready: false }, false, false],
    ["not ready but published", { ready: false }, true, true],
    ["terminating and serving", { ready: false, serving: true, terminating: true }, false, false],
  ])("readiness: %s", (_, conditions, publishNotReadyAddresses, counts) => {
    const world = exporting("a", {
      headless: true,
      publishNotReadyAddresses,
      endpoints: endpoints({ address: "10.0.0.1", ...conditions }),
    });
    expect(list(world)).toEqual(counts ? ["a 10.0.0.1"] : []);
  });
});

describe("KEP-1645 Using EndpointSlice objects: endpoints that importers report", () => {
  const headless = (clusterId: string, bySource: Record<string, string[]>) =>
    importing(clusterId, {
      type: "Headless",
      endpoints: Object.fromEntries(
        Object.entries(bySource).map(([source, addresses]) => [
          source,
          endpoints(...addresses.map((address) => ({ address }))),
        ]),
      ),
    });

  it("one importer speaks for the whole clusterset", () => {
    expect(list(headless("a", { far: ["10.2.0.1"], a: ["10.0.0.1"], "": ["10.3.0.1"] }))).toEqual([
      " 10.3.0.1 (a)",
      "a 10.0.0.1",
      "far 10.2.0.1 (a)",
    ]);
  });

  it("an endpoint that several importers report is one endpoint, reported by the source cluster if it is among them", () => {
    expect(list(headless("a", { b: ["10.1.0.1"] }), headless("b", { b: ["10.1.0.1"] }))).toEqual([
      "b 10.1.0.1",
    ]);
    expect(list(headless("b", { far: ["10.1.0.1"] }), headless("a", { far: ["10.1.0.1"] }))).toEqual([
      "far 10.1.0.1 (a)",
    ]);
  });

  it("source clusters are compared case-insensitively (RFC 4343)", () => {
    expect(
      list(headless("a", { Far: ["10.1.0.1"] }), headless("b", { far: ["10.1.0.1", "10.1.0.2"] })),
    ).toEqual(["Far 10.1.0.1 (a)", "far 10.1.0.2 (b)"]);
  });

  it("a cluster that exports speaks for itself: importers may be late", () => {
    const exporter = exporting("a", { headless: true, endpoints: one("10.0.0.1") });
    expect(list(exporter, headless("b", { A: ["10.0.0.66"], far: ["10.2.0.1"] }))).toEqual([
      "a 10.0.0.1",
      "far 10.2.0.1 (b)",
    ]);
  });

  it("exports decide type and ports", () => {
    const exporter = exporting("b", { headless: true, ports: [{ name: "http", protocol: "TCP", port: 80 }] });
    const merged = mergeClusterset([exporter, importing("a", { type: "ClusterSetIP", ips: ["172.16.0.1"] })]);
    expect(web(merged)).toMatchObject({ type: "Headless", reportedBy: ["b"], exporters: ["b"] });
    expect(web(merged).ports).toHaveLength(1);
    expect(merged.conflicts).toEqual([]);
  });

  it("one address in two port sets is two endpoints", () => {
    const groups = {
      ...one("10.0.0.1"),
      "*": { ports: [], members: { "10.0.0.1": { address: "10.0.0.1" } } },
    };
    expect(list(exporting("a", { headless: true, endpoints: groups }))).toEqual(["a 10.0.0.1", "a 10.0.0.1"]);
  });

  it("an export and an import of one cluster are one contribution", () => {
    const both = snapshot("a", {
      exports: { "shop/web": exported({ headless: true, endpoints: one("10.0.0.1") }) },
      imports: { "shop/web": imported({ type: "Headless", endpoints: { a: one("10.0.0.1") } }) },
    });
    expect(list(both)).toEqual(["a 10.0.0.1"]);
  });
});

describe("what one importer reports twice of a source cluster is one endpoint", () => {
  const one = (zone: string) => endpoints({ address: "10.0.0.1", zone });
  const importedBy = (spellings: Record<string, ReturnType<typeof endpoints>>) =>
    web(mergeClusterset([importing("hub", { type: "Headless", endpoints: spellings })])).endpoints.map(
      ({ clusterId, zone }) => `${clusterId} ${zone}`,
    );

  it.each([
    ["the spelling that sorts first", { west: one("a"), West: one("b") }, "West b"],
    ["in whatever order they come", { West: one("b"), west: one("a") }, "West b"],
  ])("%s", (_, spellings, expected) => {
    expect(importedBy(spellings)).toEqual([expected]);
  });

  it("the zone that sorts first", () => {
    const both = (first: string, second: string) => {
      const group = one(first)["http/TCP/8080"]!;
      const twin = { ...Object.values(group.members)[0]!, zone: second };
      return { "http/TCP/8080": { ...group, members: { ...group.members, twin } } };
    };
    expect(importedBy({ west: both("b", "a") })).toEqual(["west a"]);
    expect(importedBy({ west: both("a", "b") })).toEqual(["west a"]);
  });
});
