import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { bar, federations, federationTable, foo } from "../../conformance/cases/federation.ts";
import { checkCompiled, compileTable } from "../../conformance/compiled-table.ts";
import { titledRows } from "../../conformance/dns-case.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";
import { ask, compileWorld, leasesUntil } from "../ask.ts";

const service = "myservice.myns.myfederation.svc.federation";
const world = compileTable(federationTable);

describe(federationTable.title, () => {
  it.each(titledRows(federationTable))("%s", (_, entry) => {
    checkCompiled(federationTable, world, entry);
  });

  it("keeps the order on the wire", () => {
    const foos = { ...world, view: "foo" };
    for (const rotation of [1, 2, 3])
      expect(ask({ ...foos, rotation }, service, "A")).toEqual(ask(foos, service, "A"));
  });

  it("a load balancer's host name next to addresses yields a finding", () => {
    const { findings } = compileGeneration(mergeClusterset([foo, bar]), { federations });
    expect(new Set(findings.map(({ reason, name }) => `${reason} ${name}`))).toEqual(
      new Set(["HostNameLeftOut mixed"]),
    );
  });

  it("a shard with a cluster IP keeps its endpoints, and its external addresses are left out", () => {
    // Headless, since the older export is; the younger one is not, which is a conflict.
    const headless = snapshot("east", {
      namespaces: { myns: {} },
      exports: { "myns/pets": exported({ headless: true, endpoints: endpoints({ address: "10.1.0.1" }) }) },
    });
    const other = snapshot("west", {
      namespaces: { myns: {} },
      exports: {
        "myns/pets": exported({
          exportedAt: "2026-06-01T00:00:00Z",
          serviceType: "LoadBalancer",
          clusterIPs: ["10.96.0.1"],
          loadBalancer: [{ ip: "192.0.2.1" }],
          endpoints: endpoints({ address: "10.2.0.1" }),
        }),
      },
    });
    const mixed = compileWorld([headless, other], { federations });
    const addressesFor = (view: string) =>
      ask({ ...mixed, view }, "pets.myns.myfederation.svc.federation", "A").answer.map(
        (text) => text.split(" ")[3],
      );
    expect(addressesFor("west")).toEqual(["10.96.0.1", "10.2.0.1", "10.1.0.1"]);
    expect(new Set(addressesFor("east"))).toEqual(new Set(["10.1.0.1", "10.2.0.1", "192.0.2.1"]));
  });

  it("removes a shard whose lease expired, and bounds the TTL until then", () => {
    const leases = leasesUntil((clusterId) => (clusterId === "bar" ? 2500 : Number.POSITIVE_INFINITY));
    expect(ask({ ...world, leases }, service, "A").answer[0]).toContain(" 2 A ");
    expect(ask({ ...world, leases }, `foo.${service}`, "A").answer[0]).toContain(" 5 A ");
  });
});

describe("configuration", () => {
  it("serves several federations in one zone", () => {
    const both = compileWorld([foo], {
      federations: [...federations, { name: "second", zone: "federation" }],
    });
    expect(ask(both, "myservice.myns.second.svc.federation", "A").answer).toHaveLength(1);
    expect(ask(both, service, "A").answer).toHaveLength(1);
  });

  it.each([
    [[{ name: "one", zone: "clusterset.local" }]],
    [[{ name: "one", zone: "federation", domain: "federation" }]],
  ])("rejects one zone for two kinds: %j", (claimed) => {
    expect(() => compileGeneration(mergeClusterset([foo]), { federations: claimed })).toThrow("claimed");
  });
});
