import { describe, expect, it } from "vitest";
import type { ResolveContext } from "../../../src/resolve/resolve.ts";
import { type Locality, localityView } from "../../../src/zone/locality.ts";
import { federations, federationTable, foo } from "../../conformance/cases/federation.ts";
import { checkCompiled, compileTable } from "../../conformance/compiled-table.ts";
import { titledRows } from "../../conformance/dns-case.ts";
import { ask, compileWorld, leasesUntil } from "../ask.ts";

const INTERNAL = "myfederation.svc.federation";
const EXTERNAL = "myfederation.svc.federation.example.com";
const service = `myservice.myns.${INTERNAL}`;
const eu = { region: "eu" };
const places = [
  eu,
  { region: "us" },
  { region: "eu", zone: "eu-2" },
  { region: "us", zone: "eu-2" },
  { region: "asia" },
  // Twice, as rules may name a locality twice.
  { region: "eu" },
];
const options = { federations, serial: federationTable.serial };
const compile = () => compileWorld(federationTable.snapshots, { ...options, localities: places });
const world = compile();

const BAR = "104.32.64.130";
const BAZ = "108.120.45.12";
const FOO = "104.32.64.128";
const QUX = "198.51.100.9";
/** The order of the shards for a client without a locality. */
const ANYWHERE = [BAR, BAZ, FOO, QUX];

/** The addresses for a client in a locality, in their order. */
function addressesIn(context: ResolveContext, name: string, place: Locality): string[] {
  return ask({ ...context, view: localityView(place) }, name, "A").answer.map((text) => text.split(" ")[3]!);
}

describe("a client outside with a locality (federated service discovery)", () => {
  it.each([
    ["Objective: same region, then any", service, { region: "eu" }, [BAZ, FOO, QUX, BAR]],
    ["Objective: the only shard of the region, then any", service, { region: "us" }, [BAR, BAZ, FOO, QUX]],
    ["Objective: same zone, same region, any", service, { region: "eu", zone: "eu-2" }, [BAZ, FOO, QUX, BAR]],
    ["Objective: a zone counts in its region only", service, { region: "us", zone: "eu-2" }, ANYWHERE],
    ["Objective: any shard if the region has none", service, { region: "asia" }, ANYWHERE],
    ["Objective: any shard for a locality that is not configured", service, { region: "africa" }, ANYWHERE],
    [
      "External Clients: the registered domain too",
      `myservice.myns.${EXTERNAL}`,
      { region: "eu" },
      [BAZ, FOO, QUX, BAR],
    ],
    [
      "Objective: endpoints by their own zones",
      `pets.myns.${INTERNAL}`,
      { region: "eu", zone: "eu-2" },
      ["10.2.0.1", "10.0.0.1", "10.1.0.1"],
    ],
    ["Objective: the shard that the client specifies", `bar.${service}`, eu, [BAR]],
    ["a region's own name", service.replace(".svc.", ".svc.us."), eu, [BAR]],
    [
      "a cluster without a shard is skipped: mixed is in bar, and has a host name in foo",
      `mixed.myns.${INTERNAL}`,
      eu,
      ["104.32.64.131"],
    ],
  ] as const)("%s", (_, name, place, expected) => {
    expect(addressesIn(compile(), name, place)).toEqual(expected);
  });

  it("keeps the order on the wire", () => {
    const near = { ...world, view: localityView(eu) };
    for (const rotation of [1, 2, 3])
      expect(ask({ ...near, rotation }, service, "A")).toEqual(ask(near, service, "A"));
  });

  it("never gets a clusterIP (Internal Clients: that of the source cluster alone)", () => {
    for (const place of places)
      for (const address of addressesIn(world, service, place)) expect(address).not.toMatch(/^10\./);
  });

  it("removes a shard whose lease expired, and bounds the TTL until then", () => {
    const leases = leasesUntil((clusterId) => (clusterId === "baz" ? 2500 : Number.POSITIVE_INFINITY));
    expect(ask({ ...world, leases, view: localityView(eu) }, service, "A").answer[0]).toContain(
      ` 2 A ${BAZ}`,
    );
    const others = federationTable.snapshots.filter(({ clusterId }) => clusterId !== "baz");
    const after = compileWorld(others, { ...options, localities: places });
    expect(addressesIn(after, service, { region: "eu", zone: "eu-2" })).toEqual([FOO, QUX, BAR]);
  });

  it("has the clusterset zones of all clients outside, and no cluster's own zone", () => {
    const outside = { ...world, view: undefined };
    for (const name of ["myns.svc.clusterset.local", "dns-version.clusterset.local", "svc.cluster.local"])
      for (const type of ["A", "TXT", "SOA"])
        expect(ask({ ...world, view: localityView(eu) }, name, type)).toEqual(ask(outside, name, type));
  });
});

describe("localities", () => {
  it.each(titledRows(federationTable))("change nothing for a client without one: %s", (_, entry) => {
    checkCompiled(federationTable, world, entry);
  });

  it("cost a generation nothing without configured ones or without a federation", () => {
    const without = compileTable(federationTable).generation;
    expect(compileWorld(federationTable.snapshots, { ...options, localities: [] }).generation.rootHash).toBe(
      without.rootHash,
    );
    expect(compileWorld([foo], { localities: places }).generation.rootHash).toBe(
      compileWorld([foo]).generation.rootHash,
    );
    expect(world.generation.rootHash).not.toBe(without.rootHash);
  });
});
