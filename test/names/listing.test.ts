import fc from "fast-check";
import { expect, it } from "vitest";
import { listRecords, zoneFileLine } from "../../src/names/listing.ts";
import type { ZoneOptions } from "../../src/zone/zone-plan.ts";
import { endpoints, exported, exporting, imported, port, snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld } from "../resolve/ask.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { worldOf } from "./world-of.ts";

const ports = [port("http", 80), port("dns", 53, "UDP")];
const many = Array.from({ length: 101 }, (_, index) => ({ address: `10.2.0.${index}` }));
const world = [
  snapshot("east", {
    clusterZone: { name: "cluster.local", pods: "disabled" },
    exports: {
      "shop/web": exported({ ports }),
      "shop/wide": exported({ headless: true, endpoints: endpoints(...many) }),
    },
    imports: { "shop/web": imported({ ips: ["10.200.0.1", "fd00::c8:1"], ports }) },
  }),
  { ...exporting("west", { ports }), imports: { "shop/web": imported({ ips: ["10.201.0.1"], ports }) } },
];

function lines(zone: string | undefined, view?: string, options: Partial<ZoneOptions> = {}): string[] {
  const compiled = worldOf(world, { zones: ["clusterset.test", "alias.test"], ttl: 9, ...options });
  return Array.from(listRecords(compiled, { zone, view }), (record) => Object.values(record).join(" "));
}

it("the records of a service have its ports and reverse names", () => {
  const reverse = `1.0.0.0.8.c.${"0.".repeat(24)}d.f.ip6.arpa.`;
  expect(
    lines(undefined, "west")
      .filter((line) => line.includes("web.shop"))
      .sort(),
  ).toEqual(
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
});

it("SRV targets are in the zone that is listed, PTR targets in the canonical zone", () => {
  expect(lines("alias.test.", "west")).toEqual(
    expect.arrayContaining([
      "_dns._udp.web.shop.svc.alias.test. 9 SRV 0 100 53 web.shop.svc.alias.test.",
      "1.0.201.10.in-addr.arpa. 9 PTR web.shop.svc.clusterset.test.",
    ]),
  );
});

it("names below the root have one dot at their end, and a line of a zone file has tabs (RFC 1035 section 5)", () => {
  const zones = ["."];
  const hosts = [{ name: ".", addresses: ["192.0.2.53"] }];
  expect(lines(undefined, undefined, { zones, hosts })).toContain(". 9 A 192.0.2.53");
  const records = [...listRecords(worldOf(world, { zones, ttl: 9 }))];
  expect(records.map(({ name }) => name)).toContain("web.shop.svc.");
  expect(zoneFileLine(records.find(({ type }) => type === "A")!)).toMatch(/^[^\t]+\.\t9\tIN\tA\t[\d.]+$/);
});

it("each of many SRV records has a weight of at least 1", () => {
  const services = lines(undefined).filter((line) => line.startsWith("_http._tcp.wide.shop.svc."));
  expect(services).toHaveLength(many.length);
  for (const line of services)
    expect(line).toMatch(/ 9 SRV 0 1 8080 [0-9-]+\.east\.wide\.shop\.svc\.clusterset\.test\.$/);
});

it("the mark of records whose order matters is not in their TTL", () => {
  const federations = [{ name: "fed", zone: "federation" }];
  const seen = lines("federation.", "east", { federations }).filter((line) => line.includes(" A "));
  expect(new Set(seen.map((line) => line.split(" ")[1]))).toEqual(new Set(["9"]));
});

it("the records of a cluster's own zone exist in its view alone", () => {
  expect(lines("cluster.local.", "east").join("\n")).not.toContain("clusterset.test");
  for (const view of [undefined, "west"])
    expect(() => lines("cluster.local.", view)).toThrow("exists only in the views of clusters");
  expect(() => lines("cluster.local.", "north")).toThrow('the gateway does not know the cluster "north"');
  expect(() => lines("nothing.test.")).toThrow("the gateway has no zone nothing.test.");
});

it("every record that is listed is the answer at its name, in random worlds and in each view", () => {
  fc.assert(
    fc.property(arbitraryWorld, fc.nat(4), (snapshots, pick) => {
      const view = [undefined, ...snapshots.map(({ clusterId }) => clusterId)][pick % (snapshots.length + 1)];
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
