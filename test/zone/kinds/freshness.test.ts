import { describe, expect, it } from "vitest";
import { listRecords } from "../../../src/names/listing.ts";
import { clusterLocalTable } from "../../conformance/cases/cluster-local.ts";
import { clustersetTable } from "../../conformance/cases/clusterset.ts";
import { federationTable } from "../../conformance/cases/federation.ts";
import type { DnsTable } from "../../conformance/dns-case.ts";
import { endpoints, importing } from "../../merge/fixtures.ts";
import { ask, compileWorld, leasesUntil } from "../../resolve/ask.ts";

const TTL = 300;

describe("each record is as fresh as the leases of the clusters that it depends on", () => {
  it.each<[string, string | undefined, DnsTable]>([
    ["clusterset.local.", undefined, clustersetTable],
    ["clusterset.local.", "west", clustersetTable],
    ["cluster.local.", "east", clusterLocalTable],
    ["cluster.local.", "west", clusterLocalTable],
    ["federation.", "foo", federationTable],
    ["federation.example.com.", undefined, federationTable],
  ])("in the zone %s in the view %s", (zone, view, { snapshots, federations = [], zones }) => {
    const world = compileWorld(snapshots, { ttl: TTL, federations, ...(zones && { zones }) }, { view });
    const expiring = { ...world, leases: leasesUntil(() => 2500) };
    const ttlsOf = (context: typeof world, name: string, type: string) =>
      new Set(ask(context, name.replace(/\.$/, ""), type).answer.map((line) => line.split(" ")[1]));
    let records = 0;
    for (const { name, type } of listRecords(world.world, { zone, view })) {
      if (name === zone || type === "TXT") continue;
      expect([name, type, ttlsOf(expiring, name, type)]).toEqual([name, type, new Set(["2"])]);
      expect([name, type, ttlsOf(world, name, type)]).toEqual([name, type, new Set([`${TTL}`])]);
      records++;
    }
    expect(records).toBeGreaterThan(5);
  });

  it("an endpoint's name depends on all clusters that report endpoints with it", () => {
    const reports = (clusterId: string, address: string) =>
      importing(clusterId, {
        type: "Headless",
        endpoints: { x: endpoints({ address, hostname: "db-0" }) },
      });
    const world = compileWorld([reports("a", "10.1.0.1"), reports("b", "10.1.0.2")], { ttl: TTL });
    const name = "db-0.x.web.shop.svc.clusterset.local";
    for (const expiring of ["a", "b"]) {
      const leases = leasesUntil((clusterId) => (clusterId === expiring ? 2500 : Number.POSITIVE_INFINITY));
      for (const [asked, type] of [
        [name, "A"],
        ["1.0.1.10.in-addr.arpa", "PTR"],
        ["2.0.1.10.in-addr.arpa", "PTR"],
      ] as const)
        expect([asked, ask({ ...world, leases }, asked, type).answer]).toEqual([
          asked,
          ask(world, asked, type).answer.map((line) => line.replace(` ${TTL} `, " 2 ")),
        ]);
    }
  });
});
