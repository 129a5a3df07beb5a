import { describe, expect, it } from "vitest";
import type { AddressSource } from "../../src/merge/addresses.ts";
import type { MergeOptions } from "../../src/merge/merge-key.ts";
import type { ClusterSnapshot, ExportedService } from "../../src/snapshot/schema.ts";
import { endpoints, exported, exporting, imported, importing, snapshot, web } from "./fixtures.ts";
import { mergeClusterset } from "./merged.ts";

const pod = endpoints({ address: "10.0.0.1" }, { address: "10.0.0.2", ready: false });
const [OLD, YOUNG] = ["2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"];
const balanced = (...loadBalancer: NonNullable<ExportedService["loadBalancer"]>) => ({ loadBalancer });

/** A cluster that exports and imports `shop/web`. */
function member(clusterId: string, ips: string[], parts = {}): ClusterSnapshot {
  return snapshot(clusterId, {
    exports: { "shop/web": exported({ endpoints: pod, ...parts }) },
    imports: { "shop/web": imported({ ips }) },
  });
}

const outside = (world: ClusterSnapshot[], options: MergeOptions = {}) =>
  web(mergeClusterset(world, options)).outside;

describe("KEP-1645 ClusterSetIP, for clients outside", () => {
  it.each<[string, ClusterSnapshot[], AddressSource | "none", string[], string[]]>([
    [
      "distinct spec.ips of all live imports",
      [member("b", ["172.16.0.1", "fd00::2"]), member("a", ["172.16.0.1"]), snapshot("c")],
      "ClusterSetIP",
      ["172.16.0.1", "fd00::2"],
      ["a", "b"],
    ],
    [
      "else load-balancer addresses and external IPs of the exporters, host names left out",
      [
        member("b", [], { externalIPs: ["192.0.2.9"] }),
        member("a", [], balanced({ hostname: "lb.example.com" }, { ip: "192.0.2.1" }, { ip: "2001:db8::1" })),
        member("c", []),
      ],
      "LoadBalancer",
      ["192.0.2.1", "2001:db8::1", "192.0.2.9"],
      ["a", "b"],
    ],
    [
      "else ready endpoints of every exporter, a headless one included, which has no load balancer",
      [
        exporting("a", { endpoints: pod }),
        exporting("b", {
          headless: true,
          externalIPs: ["192.0.2.9"],
          endpoints: endpoints({ address: "10.1.0.1" }),
        }),
      ],
      "Endpoint",
      ["10.0.0.1", "10.1.0.1"],
      ["a", "b"],
    ],
    [
      "else none",
      [exporting("a", { endpoints: endpoints({ address: "10.0.0.2", ready: false }) })],
      "none",
      [],
      [],
    ],
    [
      "of exports of one time the source that comes first counts",
      [exporting("a", { endpoints: pod }), exporting("b", balanced({ ip: "192.0.2.1" }))],
      "LoadBalancer",
      ["192.0.2.1"],
      ["b"],
    ],
    [
      "the oldest export with an address decides: one that has none leaves it to the next",
      [
        exporting("a", { exportedAt: OLD }),
        exporting("b", { exportedAt: YOUNG, ...balanced({ ip: "192.0.2.1" }) }),
        exporting("c", { endpoints: pod }),
      ],
      "LoadBalancer",
      ["192.0.2.1"],
      ["b"],
    ],
  ])("%s", (_, world, source, addresses, reportedBy) => {
    expect(outside(world)).toMatchObject({ source, addresses, reportedBy });
  });

  it.each<[AddressSource[], string[], ClusterSnapshot?]>([
    [["LoadBalancer", "ClusterSetIP"], ["192.0.2.9"]],
    [["Endpoint", "ClusterSetIP"], ["10.0.0.1"]],
    [[], []],
    // Beside an importer that speaks for all and exports nothing:
    [["LoadBalancer", "ClusterSetIP"], ["192.0.2.9"], importing("hub", { ips: ["172.16.0.1"] })],
    [["ClusterSetIP", "LoadBalancer"], ["172.16.0.1"], importing("hub", { ips: ["172.16.0.1"] })],
  ])("in the configured order %j", (outsideOrder, addresses, hub) => {
    const own = member("a", hub === undefined ? ["172.16.0.1"] : [], { externalIPs: ["192.0.2.9"] });
    const grants = new Map([["hub", "*" as const]]);
    expect(outside([own, ...(hub ? [hub] : [])], { outsideOrder, grants }).addresses).toEqual(addresses);
  });

  it("an importer that speaks for another cluster replaces no load balancer by endpoints", () => {
    const hub = importing("hub", { endpoints: { legacy: endpoints({ address: "10.9.0.1" }) } });
    const world = [exporting("a", { externalIPs: ["192.0.2.9"] }), hub, snapshot("c")];
    const service = web(mergeClusterset(world, { grants: new Map([["hub", new Set(["legacy"])]]) }));
    for (const seen of [service.outside, service.byCluster.get("c") ?? service.outside])
      expect(seen.addresses).toEqual(["192.0.2.9"]);
  });

  it("what is no address does not count, and is a finding", () => {
    const world = [member("a", ["none"], { externalIPs: ["300.0.0.1", "192.0.2.9"] })];
    expect(outside(world)).toEqual({ source: "LoadBalancer", addresses: ["192.0.2.9"], reportedBy: ["a"] });
    const of = { clusterId: "a", reason: "InvalidAddress", namespace: "shop", name: "web" };
    const message = (text: string) => `${text}, which is not an IP address; it is left out`;
    expect(mergeClusterset(world).findings).toEqual([
      { ...of, kind: "Service", message: message('spec.externalIPs holds "300.0.0.1"') },
      { ...of, kind: "ServiceImport", message: message('spec.ips holds "none"') },
    ]);
  });
});

describe("host names of load balancers", () => {
  it("without an address: that of the oldest one that is a name, for all views", () => {
    const world = [
      exporting("a", balanced({ hostname: "a.example" })),
      exporting("b", { exportedAt: OLD, ...balanced({ hostname: "192.0.2.1" }) }),
      exporting("c", {
        exportedAt: YOUNG,
        endpoints: pod,
        ...balanced({ hostname: "c..example" }, { hostname: "c.example" }),
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
      ["a", "HostNameLeftOut", expect.stringContaining('"a.example" cannot be a CNAME record beside')],
      ["b", "InvalidHostName", expect.stringContaining('"192.0.2.1" is an address, not a DNS name')],
      ["c", "InvalidHostName", expect.stringContaining('("c..example" has an empty label): it is left out')],
    ]);
  });

  it.each([
    ["an address counts before the host name of a younger load balancer", "2026", "a", "HostNameLeftOut"],
    ["an address counts before a host name of the same age", "2025", "a", "HostNameLeftOut"],
    ["a host name counts before the address of a younger load balancer", "2024", "b", "AddressLeftOut"],
  ])("%s, and a finding says so", (_, year, clusterId, reason) => {
    const exportedAt = `${year}-01-01T00:00:00Z`;
    const merged = mergeClusterset([
      exporting("a", { exportedAt, endpoints: pod, ...balanced({ hostname: "a.example" }) }),
      exporting("b", { exportedAt: YOUNG, ...balanced({ ip: "192.0.2.1" }) }),
    ]);
    const counts = clusterId === "a" ? { addresses: ["192.0.2.1"] } : { hostname: "a.example" };
    expect(web(merged).outside).toMatchObject({ source: "LoadBalancer", ...counts });
    expect(merged.findings).toMatchObject([{ clusterId, reason }]);
  });

  it.each<[string, object, string[]]>([
    ["beside an external IP", { externalIPs: ["192.0.2.1"], ...balanced({ hostname: "a.example" }) }, ["a"]],
    [
      "beside another load balancer's address, not its own",
      balanced({ ip: "192.0.2.1", hostname: "a.example" }, { hostname: "b.example" }),
      ["b"],
    ],
    ["twice the same", balanced({ hostname: "a.example" }, { hostname: "a.example" }), []],
  ])("in one cluster %s: a finding where no client is led to one", (_, parts, leftOut) => {
    const { findings } = mergeClusterset([exporting("a", parts)]);
    expect(findings.map(({ reason, message }) => [reason, /"(\w+)\.example"/.exec(message)?.[1]])).toEqual(
      leftOut.map((name) => ["HostNameLeftOut", name]),
    );
  });
});

describe("KEP-1645 ClusterSetIP, for a source cluster", () => {
  const balancer = { source: "LoadBalancer", addresses: ["192.0.2.9"], reportedBy: ["a"] };
  const listening = [{ name: "http", protocol: "TCP", port: 8080 }];
  const ready = { source: "Endpoint", addresses: ["10.0.0.1"], reportedBy: ["a"], ports: listening };
  const ownIP = (clusterId: string, address: string) => ({
    source: "ClusterSetIP",
    addresses: [address],
    reportedBy: [clusterId],
  });

  it.each<[string, ClusterSnapshot[], object]>([
    [
      "its own spec.ips, where they differ from outside",
      [member("a", ["172.16.0.1"]), member("b", ["172.16.0.2"])],
      { a: ownIP("a", "172.16.0.1"), b: ownIP("b", "172.16.0.2") },
    ],
    [
      "one address clusterset-wide needs no view",
      [member("a", ["172.16.0.1"]), member("b", ["172.16.0.1"])],
      {},
    ],
    [
      "without spec.ips load-balancer addresses, never another cluster's spec.ips",
      [member("a", ["172.16.0.1"], { externalIPs: ["192.0.2.9"] }), snapshot("b")],
      { b: balancer },
    ],
    ["else ready endpoints", [member("a", ["172.16.0.1"]), importing("b", { ips: ["none"] })], { b: ready }],
    [
      "else none, which is not what outside gets",
      [importing("a", { ips: ["172.16.0.1"] }), snapshot("b")],
      { b: { source: "none", addresses: [], reportedBy: [] } },
    ],
    [
      "no view for a cluster without the namespace (Importing Services)",
      [member("a", ["172.16.0.1"]), snapshot("b", { namespaces: {} })],
      {},
    ],
  ])("%s", (_, world, views) => {
    expect(Object.fromEntries(web(mergeClusterset(world)).byCluster)).toEqual(views);
  });
});

describe("KEP-1645 Using EndpointSlice objects: endpoints of a headless service", () => {
  const one = (address: string, zone?: string) => endpoints({ address, ...(zone && { zone }) });
  const headless = (clusterId: string, bySource: Record<string, ReturnType<typeof endpoints>>) =>
    importing(clusterId, { type: "Headless", endpoints: bySource });
  const far = one("10.2.0.1");
  const groups = (first: string, second: string) => {
    const group = one("10.0.0.1", first)["http/TCP/8080"]!;
    const twin = { ...Object.values(group.members)[0]!, zone: second };
    return { "http/TCP/8080": { ...group, members: { ...group.members, twin } } };
  };

  /** Each as `<source cluster> <address>`, with its zone, and the reporter where that is another cluster. */
  const list = (world: ClusterSnapshot[]) =>
    web(mergeClusterset(world)).endpoints.map(({ clusterId, address, zone, reportedBy }) =>
      [
        clusterId,
        address,
        ...(zone ? [zone] : []),
        ...(reportedBy === clusterId ? [] : [`(${reportedBy})`]),
      ].join(" "),
    );

  it.each([
    ["ready", { ready: true }, false, true],
    ["no condition", {}, false, true],
    ["not ready", { ready: false }, false, false],
    ["not ready but published", { ready: false }, true, true],
    ["terminating and serving", { ready: false, serving: true, terminating: true }, false, false],
  ])("readiness: %s", (_, conditions, publishNotReadyAddresses, counts) => {
    const members = endpoints({ address: "10.0.0.1", ...conditions });
    const world = exporting("a", { headless: true, publishNotReadyAddresses, endpoints: members });
    expect(list([world])).toEqual(counts ? ["a 10.0.0.1"] : []);
  });

  it.each<[string, ClusterSnapshot[], string[]]>([
    [
      "one importer speaks for the whole clusterset",
      [headless("a", { far, a: one("10.0.0.1"), "": one("10.3.0.1") })],
      [" 10.3.0.1 (a)", "a 10.0.0.1", "far 10.2.0.1 (a)"],
    ],
    [
      "what several importers report is one endpoint, of the source cluster if that is among them",
      [headless("a", { b: one("10.1.0.1") }), headless("b", { b: one("10.1.0.1") })],
      ["b 10.1.0.1"],
    ],
    [
      "else of the first by cluster id",
      [headless("b", { far }), headless("a", { far })],
      ["far 10.2.0.1 (a)"],
    ],
    [
      "source clusters are compared case-insensitively (RFC 4343)",
      [
        headless("a", { Far: far }),
        headless("b", { far: endpoints({ address: "10.2.0.1" }, { address: "10.2.0.2" }) }),
      ],
      ["Far 10.2.0.1 (a)", "far 10.2.0.2 (b)"],
    ],
    [
      "a cluster that exports speaks for itself: importers may be late",
      [
        exporting("a", { headless: true, endpoints: one("10.0.0.1") }),
        headless("b", { A: one("10.0.0.66"), far }),
      ],
      ["a 10.0.0.1", "far 10.2.0.1 (b)"],
    ],
    [
      "one address in two port sets is two endpoints",
      [
        exporting("a", {
          headless: true,
          endpoints: {
            ...one("10.0.0.1"),
            "*": { ports: [], members: { "10.0.0.1": { address: "10.0.0.1" } } },
          },
        }),
      ],
      ["a 10.0.0.1", "a 10.0.0.1"],
    ],
    [
      "an export and an import of one cluster are one contribution",
      [
        {
          ...exporting("a", { headless: true, endpoints: one("10.0.0.1") }),
          imports: headless("a", { a: one("10.0.0.1") }).imports,
        },
      ],
      ["a 10.0.0.1"],
    ],
    [
      "of two spellings by one importer that which sorts first",
      [headless("hub", { west: one("10.0.0.1", "a"), West: one("10.0.0.1", "b") })],
      ["West 10.0.0.1 b (hub)"],
    ],
    [
      "of two zones that which sorts first",
      [headless("hub", { west: groups("b", "a") })],
      ["west 10.0.0.1 a (hub)"],
    ],
    ["in whatever order they come", [headless("hub", { west: groups("a", "b") })], ["west 10.0.0.1 a (hub)"]],
  ])("%s", (_, world, expected) => {
    expect(list(world)).toEqual(expected);
  });

  it("exports decide type and ports, whatever clusters import", () => {
    const exporter = exporting("b", { headless: true, ports: [{ name: "http", protocol: "TCP", port: 80 }] });
    const merged = mergeClusterset([exporter, importing("a", { type: "ClusterSetIP", ips: ["172.16.0.1"] })]);
    expect(web(merged)).toMatchObject({ type: "Headless", reportedBy: ["b"], exporters: ["b"] });
    expect(web(merged).ports).toHaveLength(1);
    expect(merged.conflicts).toEqual([]);
  });
});
