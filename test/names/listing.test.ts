import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listRecords, zoneFileLine } from "../../src/names/listing.ts";
import type { ZoneOptions } from "../../src/zone/zone-plan.ts";
import { alias, local } from "../conformance/cases/cluster-local.ts";
import { endpoints, exported, imported, port, snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld } from "../resolve/ask.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { worldOf } from "./world-of.ts";

const world = [
  snapshot("east", {
    namespaces: { shop: {}, ops: {} },
    clusterZone: { name: "cluster.local", pods: "disabled" },
    exports: {
      "shop/web": exported({ ports: [port("http", 80), port("dns", 53, "UDP")] }),
      "shop/Many": exported(),
      "shop/many": exported({
        headless: true,
        endpoints: endpoints(
          ...["10.1.0.5", "10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4", "fd00::1"].map((address) => ({
            address,
          })),
        ),
      }),
      "ops/log": exported({ endpoints: endpoints({ address: "10.1.0.9" }) }),
    },
    imports: { "shop/web": imported({ ips: ["10.200.0.1", "fd00::c8:1"], ports: [port("http", 80)] }) },
    services: {
      "shop/own": local({ clusterIPs: ["10.96.0.1"], ports: [port("https", 443)] }),
      "shop/alias": alias("www.example.com"),
    },
  }),
  snapshot("west", {
    exports: { "shop/web": exported({ exportedAt: "2026-02-01T00:00:00Z", ports: [port("http", 80)] }) },
    imports: { "shop/web": imported({ ips: ["10.201.0.1"], ports: [port("http", 80)] }) },
  }),
];
const options = { zones: ["clusterset.test", "alias.test"], serial: 3, ttl: 9, negativeTtl: 4 };
const compile = () => worldOf(world, options);

function lines(zone: string | undefined, view?: string): string[] {
  return Array.from(listRecords(compile(), { zone, view }), ({ name, ttl, type, rdata }) =>
    [name, ttl, type, rdata].join(" "),
  );
}

describe("the records of a zone in a view", () => {
  it("of a service have its ports and reverse names; SRV targets are in the zone that is listed", () => {
    const ofWeb = (seen: readonly string[]) => seen.filter((line) => line.includes("web.shop"));
    const reverse = `1.0.0.0.8.c.${"0.".repeat(24)}d.f.ip6.arpa.`;
    expect(ofWeb(lines(undefined, "west")).sort()).toEqual(
      [
        "web.shop.svc.clusterset.test. 9 A 10.201.0.1",
        "web.shop.svc.clusterset.test. 9 SRV 0 50 80 web.shop.svc.clusterset.test.",
        "web.shop.svc.clusterset.test. 9 SRV 0 50 53 web.shop.svc.clusterset.test.",
        "_http._tcp.web.shop.svc.clusterset.test. 9 SRV 0 100 80 web.shop.svc.clusterset.test.",
        "_dns._udp.web.shop.svc.clusterset.test. 9 SRV 0 100 53 web.shop.svc.clusterset.test.",
        `${reverse} 9 PTR web.shop.svc.clusterset.test.`,
        "1.0.200.10.in-addr.arpa. 9 PTR web.shop.svc.clusterset.test.",
        "1.0.201.10.in-addr.arpa. 9 PTR web.shop.svc.clusterset.test.",
      ].sort(),
    );
    expect(ofWeb(lines("alias.test.", "west"))).toContain(
      "_dns._udp.web.shop.svc.alias.test. 9 SRV 0 100 53 web.shop.svc.alias.test.",
    );
    // PTR targets are in the canonical zone.
    expect(lines("alias.test.", "west")).toContain(
      "1.0.201.10.in-addr.arpa. 9 PTR web.shop.svc.clusterset.test.",
    );
  });

  it("below the root have one dot at their end, and a line of a zone file has tabs (RFC 1035 section 5)", () => {
    const root = worldOf(world, { ...options, zones: ["."] });
    const records = [...listRecords(root)];
    expect(records.map(({ name }) => name)).toContain("web.shop.svc.");
    expect(records[0]!.name).toBe(".");
    expect(zoneFileLine(records.find(({ type }) => type === "A")!)).toMatch(/^[^\t]+\.\t9\tIN\tA\t[\d.]+$/);
  });
});

describe("every record that is listed", () => {
  it("is the answer at its name, in random worlds and in each view", () => {
    fc.assert(
      fc.property(arbitraryWorld, fc.nat(4), (snapshots, pick) => {
        const view = [undefined, ...snapshots.map(({ clusterId }) => clusterId)][
          pick % (snapshots.length + 1)
        ];
        const context = compileWorld(snapshots, {}, { view });
        for (const record of listRecords(context.world, { view })) {
          const { answer } = ask(context, record.name, record.type);
          const rdata = record.rdata.replaceAll(/\.(?= |$)/g, "").toLowerCase();
          expect(answer.map((line) => line.split(" ").slice(3).join(" ").toLowerCase())).toContain(rdata);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("what decides whether a view has a record", () => {
  const clusters = [
    snapshot("east", {
      namespaces: { shop: {}, ops: {}, ns: {} },
      exports: {
        "ops/log": exported({
          headless: true,
          endpoints: endpoints({ address: "10.1.0.9", hostname: "one" }),
        }),
      },
    }),
    snapshot("west", {
      namespaces: { shop: {} },
      exports: {
        "shop/wide": exported({
          headless: true,
          endpoints: endpoints(
            ...Array.from({ length: 101 }, (_, index) => ({ address: `10.2.0.${index}` })),
          ),
        }),
      },
    }),
  ];
  const listed = (given: Partial<ZoneOptions>, view?: string, zone?: string) => {
    const compiled = worldOf(clusters, { zones: ["clusterset.test"], ...given });
    return Array.from(listRecords(compiled, { view, zone }), (record) => Object.values(record).join(" "));
  };
  it("gives each of many SRV records a weight of at least 1", () => {
    const services = listed({}).filter((line) => line.startsWith("_http._tcp.wide.shop.svc."));
    expect(services).toHaveLength(101);
    for (const line of services)
      expect(line).toMatch(/ 5 SRV 0 1 8080 [0-9-]+\.west\.wide\.shop\.svc\.clusterset\.test\.$/);
  });

  it("does not show the mark of records whose order matters in their TTL", () => {
    const federations = [{ name: "fed", zone: "federation" }];
    const seen = listed({ federations }, "east", "federation.");
    expect(seen.filter((line) => line.includes(" A "))).not.toEqual([]);
    for (const line of seen) expect(line.split(" ")[1]).toBe("5");
  });

  it("names the root and a host there by a dot", () => {
    const hosts = [{ name: ".", addresses: ["192.0.2.53"] }];
    expect(listed({ zones: ["."], hosts })).toContain(". 5 A 192.0.2.53");
  });

  it("of a cluster's own zone exist in its view alone", () => {
    expect(lines("cluster.local.", "east").join("\n")).not.toContain("clusterset.test");
    for (const view of [undefined, "west"])
      expect(() => lines("cluster.local.", view)).toThrow("exists only in the views of clusters");
    expect(() => lines("cluster.local.", "north")).toThrow('the gateway does not know the cluster "north"');
    expect(() => lines("nothing.test.")).toThrow("the gateway has no zone nothing.test.");
  });
});
