import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { day, endpoints, exported, exporting, imported, importing, snapshot, web } from "../fixtures.ts";

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

  it("none for a ClusterSetIP service", () => {
    expect(list(exporting("a", { endpoints: one("10.0.0.1") }))).toEqual([]);
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
