import { describe, expect, it, vi } from "vitest";
import { surveyOf } from "../../src/gateway/survey.ts";
import type { KeyWorld } from "../../src/names/key-world.ts";
import { listRecords } from "../../src/names/listing.ts";
import { type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import type { Endpoint, ExportedService } from "../../src/snapshot/schema.ts";
import { localityView } from "../../src/zone/world.ts";
import { clusterLocalTable, east, local } from "../conformance/cases/cluster-local.ts";
import { clustersetTable } from "../conformance/cases/clusterset.ts";
import { federations, federationTable, foo } from "../conformance/cases/federation.ts";
import { someClustersTable } from "../conformance/cases/some-clusters.ts";
import { checkCompiled, compileTable } from "../conformance/compiled-table.ts";
import { titledRows } from "../conformance/dns-case.ts";
import { day, endpoints, exported, exporting, imported, port, snapshot } from "../merge/fixtures.ts";
import { worldOf } from "../names/world-of.ts";
import { ask, compileWorld, encodeQuery, leasesUntil } from "./ask.ts";
import { twoClusters } from "./world.ts";

describe(someClustersTable.title, () => {
  const world = compileTable(someClustersTable);

  it.each(titledRows(someClustersTable))("%s", (_, entry) => {
    checkCompiled(someClustersTable, world, entry);
  });
});

describe(clustersetTable.title, () => {
  const Z = "clusterset.local";
  const web = `web.shop.svc.${Z}`;
  const options = { zones: [`${Z}.`, "clusterset.test."], serial: 7 };
  const world = compileTable(clustersetTable);

  it.each(titledRows(clustersetTable))("%s", (_, entry) => {
    checkCompiled(clustersetTable, world, entry);
  });

  it.each([
    ["an endpoint: where it listens", {}, "10.0.0.1", 8080],
    ["a load balancer: that of the Service", { loadBalancer: [{ ip: "192.0.2.1" }] }, "192.0.2.1", 80],
  ])("RFC 2782: the port of SRV is that of %s", (_, parts, address, number) => {
    const own = { ports: [port("http", 80)], endpoints: endpoints({ address: "10.0.0.1" }), ...parts };
    const mapped = compileWorld([exporting("east", own)], options);
    expect(ask(mapped, web, "A").answer).toEqual([`${web} 5 A ${address}`]);
    for (const name of [web, `_http._tcp.${web}`])
      expect(ask(mapped, name, "SRV").answer).toEqual([`${name} 5 SRV 0 100 ${number} ${web}`]);
  });

  it("RFC 2782: a view without an address has no SRV record, and no name less", () => {
    const ports = [port("http", 80)];
    const withIPs = (clusterId: string, ips: string[]) => ({
      ...exporting(clusterId, { ports }),
      imports: { "shop/web": imported({ ports, ips }) },
    });
    const context = compileWorld([withIPs("east", []), withIPs("west", ["10.201.0.1"])], options);
    for (const name of [web, `_http._tcp.${web}`]) {
      const seenFrom = (view?: string) => ask({ ...context, view }, name, "SRV");
      expect(seenFrom("east")).toMatchObject({ rcode: "NOERROR", answer: [] });
      for (const view of [undefined, "west"]) expect(seenFrom(view).answer).toHaveLength(1);
    }
  });

  it("a zone that a cluster reports changes nothing in other views, whatever names it has", () => {
    const host = "lb-1.elb.example.com";
    const west = exporting("west", { loadBalancer: [{ hostname: host }] });
    const greedy = (name: string) => snapshot("greedy", { clusterZone: { name, pods: "insecure" } });
    const without = compileWorld([west, snapshot("greedy")], options);
    for (const zone of ["com", "example.com", host]) {
      const world = compileWorld([west, greedy(zone)], options);
      for (const view of [undefined, "west"])
        for (const name of [web, host, zone, `www.${zone}`])
          expect(resolve(encodeQuery(name, "A"), { ...world, view })).toEqual(
            resolve(encodeQuery(name, "A"), { ...without, view }),
          );
      expect(ask(world, web, "A").answer).toEqual([`${web} 5 CNAME ${host}`]);
      expect(surveyOf(worldOf([west, greedy(zone)], options)).findings).toEqual([]);
    }
  });

  it("the reverse name of an address that a cluster reports twice is that with a hostname, whichever export is older", () => {
    const headless = (since: number, member: Endpoint) =>
      exported({ exportedAt: day(since), headless: true, endpoints: endpoints(member) });
    const twice = snapshot("east", {
      exports: {
        "shop/all": headless(1, { address: "10.0.0.6" }),
        "shop/db": headless(2, { address: "10.0.0.6", hostname: "db-0" }),
      },
    });
    const name = "6.0.0.10.in-addr.arpa";
    for (const view of [undefined, "east"])
      expect(ask(compileWorld([twice], options, { view }), name, "PTR").answer).toEqual([
        `${name} 5 PTR db-0.east.db.shop.svc.${Z}`,
      ]);
  });

  it("RFC 1034 section 3.6.2, RFC 2782: a load balancer's host name alone is a CNAME record, and no SRV target", () => {
    const named = { ports: [port("https", 443)], loadBalancer: [{ hostname: "lb.example.net" }] };
    const led = compileWorld([exporting("east", named)], options);
    for (const type of ["A", "AAAA", "CNAME", "TXT"])
      expect(ask(led, web, type).answer).toEqual([`${web} 5 CNAME lb.example.net`]);
    expect(ask(led, `_https._tcp.${web}`, "SRV")).toMatchObject({ rcode: "NOERROR", answer: [] });
  });

  it.each([web, `a.${web}`, `nothing.clusterset.test`, "192.0.2.9"])(
    "a load balancer's host name %s, which would lead back or nowhere, is left out, with a finding",
    (hostname) => {
      const looped = [exporting("east", { ports: [port("https", 443)], loadBalancer: [{ hostname }] })];
      expect(ask(compileWorld(looped, options), web, "A")).toMatchObject({ rcode: "NOERROR", answer: [] });
      const { findings } = surveyOf(worldOf(looped, options));
      expect(findings).toMatchObject([
        { kind: "Service", name: "web", message: expect.stringContaining("is left out") },
      ]);
    },
  );

  it("RFC 1794: records rotate, so that each comes first", () => {
    const firsts = [0, 1, 2, 3].map(
      (rotation) => ask({ ...world, rotation }, `db.shop.svc.${Z}`, "A").answer[0],
    );
    expect(new Set(firsts).size).toBe(4);
  });

  it("adds the name server's addresses, if any, to NS answers (RFC 1034 4.2.1)", () => {
    const served = compileWorld(twoClusters(), {
      ...options,
      nameServerAddresses: ["192.0.2.53", "2001:db8::53"],
    });
    expect(ask(served, Z, "NS").additional).toEqual([
      `ns.dns.${Z} 5 A 192.0.2.53`,
      `ns.dns.${Z} 5 AAAA 2001:db8::53`,
    ]);
    expect(ask(served, `ns.dns.${Z}`, "A").answer).toEqual([`ns.dns.${Z} 5 A 192.0.2.53`]);
  });

  describe("hosts in the zones", () => {
    const served = compileWorld(twoClusters(), {
      ...options,
      federations: [{ name: "fed", domain: "fed.example" }],
      nameServerAddresses: ["192.0.2.53"],
      hosts: [
        { name: "DNS.Gateway.clusterset.test", addresses: ["192.0.2.1", "2001:db8::1"] },
        { name: "ns.dns.clusterset.test.", addresses: ["192.0.2.54"] },
        { name: "clusterset.test", addresses: ["192.0.2.2"] },
        { name: "doh.fed.example", addresses: ["192.0.2.3"] },
        { name: "dns.elsewhere.example", addresses: ["192.0.2.4"] },
      ],
    });

    it.each([
      ["dns.gateway.clusterset.test", "A", ["192.0.2.1"]],
      ["dns.gateway.clusterset.test", "AAAA", ["2001:db8::1"]],
      ["dns.gateway.clusterset.test", "TXT", []],
      ["gateway.clusterset.test", "A", []],
      ["ns.dns.clusterset.test", "A", ["192.0.2.53", "192.0.2.54"]],
      ["clusterset.test", "A", ["192.0.2.2"]],
      ["clusterset.test", "AAAA", []],
      ["doh.fed.example", "A", ["192.0.2.3"]],
    ])("have their addresses: %s %s", (name, type, addresses) => {
      expect(ask(served, name, type)).toMatchObject({
        rcode: "NOERROR",
        authoritative: true,
        answer: addresses.map((address) => `${name} 5 ${type} ${address}`),
      });
    });

    it("do not exist in other kinds of zones, and leave the apex its SOA record", () => {
      expect(ask(served, "doh.clusterset.test", "A").rcode).toBe("NXDOMAIN");
      expect(ask(served, "dns.elsewhere.example", "A").rcode).toBe("REFUSED");
      expect(ask(served, "clusterset.test", "SOA").answer).toHaveLength(1);
      expect([...listRecords(served.world, { zone: "clusterset.test." })]).toContainEqual({
        name: "clusterset.test.",
        ttl: 5,
        type: "A",
        rdata: "192.0.2.2",
      });
    });
  });
});

describe(clusterLocalTable.title, () => {
  const Z = "cluster.local";
  const kubernetes = `kubernetes.default.svc.${Z}`;
  const world = compileTable(clusterLocalTable);

  it.each(titledRows(clusterLocalTable))("%s", (_, entry) => {
    checkCompiled(clusterLocalTable, world, entry);
  });

  it("has the reverse names in its own view (multicluster specification 2.3.3, Limitations)", () => {
    const exported = { ...east, services: { "shop/web": local({ clusterIPs: ["10.200.0.1"] }) } };
    const context = compileWorld([exported]);
    const name = "1.0.200.10.in-addr.arpa";
    expect(ask({ ...context, view: "east" }, name, "PTR").answer).toEqual([
      `${name} 5 PTR web.shop.svc.${Z}`,
    ]);
    expect(ask(context, name, "PTR").answer).toEqual([`${name} 5 PTR web.shop.svc.clusterset.local`]);
  });

  it("2.3.3: a cluster IP's PTR record is its Service's, even if an older headless one names the address", () => {
    const grabbed = {
      ...east,
      services: {
        "default/kubernetes": local({ createdAt: "2026-02-01T00:00:00Z", clusterIPs: ["10.3.0.1"] }),
        "default/grabber": local({ headless: true, endpoints: endpoints({ address: "10.3.0.1" }) }),
      },
    };
    const context = compileWorld([grabbed], {}, { view: "east" });
    const name = "1.0.3.10.in-addr.arpa";
    expect(ask(context, name, "PTR").answer).toEqual([`${name} 5 PTR ${kubernetes}`]);
  });
});

/** The addresses of a name, in their order. */
const addressesOf = (context: ResolveContext, name: string) =>
  ask(context, name, "A").answer.map((text) => text.split(" ")[3]!);

describe(federationTable.title, () => {
  const service = "myservice.myns.myfederation.svc.federation";
  const pets = "pets.myns.myfederation.svc.federation";
  const petsIn = (clusterId: string, parts: Partial<ExportedService>) =>
    snapshot(clusterId, { namespaces: { myns: {} }, exports: { "myns/pets": exported(parts) } });
  const world = compileTable(federationTable);

  it.each(titledRows(federationTable))("%s", (_, entry) => {
    checkCompiled(federationTable, world, entry);
  });

  it("keeps the order on the wire", () => {
    const foos = { ...world, view: "foo" };
    for (const rotation of [1, 2, 3])
      expect(ask({ ...foos, rotation }, service, "A")).toEqual(ask(foos, service, "A"));
  });

  it.each<[string, boolean, { readonly [view: string]: string[] }]>([
    [
      "a headless service has endpoints alone, also those of an export with cluster IPs and load balancers",
      true,
      { east: ["10.1.0.1", "10.2.0.1"], west: ["10.2.0.1", "10.1.0.1"] },
    ],
    [
      "a service with cluster IPs has nothing of a headless export",
      false,
      { east: ["192.0.2.1"], west: ["10.96.0.1"] },
    ],
  ])("%s", (_, isOldestHeadless, expected) => {
    const headless = petsIn("east", {
      exportedAt: day(isOldestHeadless ? 1 : 9),
      headless: true,
      externalIPs: ["192.0.2.9"],
      endpoints: endpoints({ address: "10.1.0.1" }),
    });
    const other = petsIn("west", {
      exportedAt: day(5),
      clusterIPs: ["10.96.0.1"],
      loadBalancer: [{ ip: "192.0.2.1" }],
      endpoints: endpoints({ address: "10.2.0.1" }),
    });
    const mixed = compileWorld([headless, other], { federations });
    for (const view of ["east", "west"])
      expect(addressesOf({ ...mixed, view }, pets)).toEqual(expected[view]);
    expect(ask(mixed, `${pets}.example.com`, "A").rcode).toBe(isOldestHeadless ? "NXDOMAIN" : "NOERROR");
  });

  it("has the endpoints of the oldest export first, and those whose hostnames differ in case under one name", () => {
    const [first, second, third] = [
      { address: "10.2.0.1", hostname: "POD-0" },
      { address: "10.2.0.2", hostname: "pod-0" },
      { address: "10.1.0.1" },
    ] as const;
    const shard = (clusterId: string, since: number, ...members: Endpoint[]) =>
      petsIn(clusterId, { exportedAt: day(since), headless: true, endpoints: endpoints(...members) });
    const context = compileWorld([shard("east", 9, third), shard("west", 1, first, second)], {
      federations,
    });
    expect(addressesOf(context, pets).at(-1)).toBe("10.1.0.1");
    expect(addressesOf(context, `pod-0.west.${pets}`)).toEqual(["10.2.0.1", "10.2.0.2"]);
  });

  it("has of a shard the addresses of load balancers, then external IPs, and no host name beside an address", () => {
    const loadBalancer = [{ ip: "192.0.2.8", hostname: "lb.example" }, {}, { hostname: "" }];
    const shard = compileWorld([petsIn("east", { loadBalancer, externalIPs: ["192.0.2.1"] })], {
      federations,
    });
    expect(addressesOf(shard, pets)).toEqual(["192.0.2.8", "192.0.2.1"]);
    expect(surveyOf(shard.world).findings).toEqual([]);
  });

  it("removes a shard whose lease expired, and bounds the TTL until then", () => {
    const leases = leasesUntil((clusterId) => (clusterId === "bar" ? 2500 : Number.POSITIVE_INFINITY));
    expect(ask({ ...world, leases }, service, "A").answer[0]).toContain(" 2 A ");
    expect(ask({ ...world, leases }, `foo.${service}`, "A").answer[0]).toContain(" 5 A ");
  });

  describe("a name above those of services", () => {
    const exports = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `myns/pets-${index}`,
        exported({ headless: true, endpoints: endpoints({ address: `10.1.0.${index}` }) }),
      ]),
    );
    const topology = { region: "eu", zones: ["eu-1"] };
    const many = snapshot("east", { namespaces: { myns: {} }, topology, exports });
    const [internal, external] = ["federation", "federation.example.com"];

    it.each([
      [internal, "NOERROR", 0],
      [`svc.${internal}`, "NOERROR", 0],
      [`myfederation.svc.${internal}`, "NOERROR", 0],
      [`anything.eu.${internal}`, "NOERROR", 0],
      [`svc.anything.eu.${internal}`, "NOERROR", 0],
      [`myfederation.svc.eu.${external}`, "NOERROR", 0],
      [`myns.myfederation.svc.${internal}`, "NOERROR", 1],
      // Headless services have no names there.
      [`myns.myfederation.svc.anything.eu.${external}`, "NOERROR", 1],
      [`anything.us.${internal}`, "NXDOMAIN", 0],
      [`other.svc.eu.${internal}`, "NXDOMAIN", 0],
      [`nothing.myfederation.svc.${internal}`, "NXDOMAIN", 0],
      [`a.b.eu.${internal}`, "NXDOMAIN", 0],
    ])("%s is %s, and services are compiled for it: %i", (name, rcode, count) => {
      const context = compileWorld([many], { federations });
      const compile = vi.spyOn(context.world as KeyWorld, "compile");
      expect(ask(context, name, "A")).toMatchObject({ rcode, answer: [] });
      expect(compile.mock.calls.filter(([, key]) => key in exports)).toHaveLength(count);
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
      [{ federations: [{ name: "one", zone: "clusterset.local" }] }, "claimed"],
      [{ federations: [{ name: "one", zone: "federation", domain: "federation" }] }, "claimed"],
      [{ federations: [{ name: "one", zone: "a.test" }], zones: ["A.test"] }, "claimed"],
      [{ zones: [] }, "a gateway needs at least one zone"],
    ])("rejects one zone for two kinds, and none: %j", (wrong, message) => {
      expect(() => worldOf([foo], wrong)).toThrow(message);
    });
  });
});

describe("a client outside with a locality (federated service discovery)", () => {
  const DOMAIN = "myfederation.svc.federation";
  const service = `myservice.myns.${DOMAIN}`;
  const [EU, US, EU2] = [{ region: "eu" }, { region: "us" }, { region: "eu", zone: "eu-2" }];
  // One twice, as rules may name a locality twice.
  const localities = [EU, US, EU2, { region: "us", zone: "eu-2" }, { region: "asia" }, { region: "eu" }];
  const world = compileWorld(federationTable.snapshots, {
    federations,
    localities,
    serial: federationTable.serial,
  });
  const [BAR, BAZ, FOO, QUX] = ["104.32.64.130", "108.120.45.12", "104.32.64.128", "198.51.100.9"];
  /** The order of the shards for a client without a locality. */
  const ANYWHERE = [BAR, BAZ, FOO, QUX];
  const NEAR_EU = [BAZ, FOO, QUX, BAR];

  it.each([
    ["Objective: same region, then any", service, EU, NEAR_EU],
    ["Objective: the only shard of the region, then any", service, US, ANYWHERE],
    ["Objective: same zone, same region, any", service, EU2, NEAR_EU],
    ["Objective: a zone counts in its region only", service, { region: "us", zone: "eu-2" }, ANYWHERE],
    ["Objective: any shard if the region has none", service, { region: "asia" }, ANYWHERE],
    ["Objective: any shard for a locality that is not configured", service, { region: "africa" }, ANYWHERE],
    ["External Clients: the registered domain too", `${service}.example.com`, EU, NEAR_EU],
    [
      "Objective: endpoints by their own zones",
      `pets.myns.${DOMAIN}`,
      EU2,
      ["10.2.0.1", "10.0.0.1", "10.1.0.1"],
    ],
    ["Objective: the shard that the client specifies", `bar.${service}`, EU, [BAR]],
    ["a region's own name", service.replace(".svc.", ".svc.us."), EU, [BAR]],
    ["mixed is in bar, and has a host name in foo", `mixed.myns.${DOMAIN}`, EU, ["104.32.64.131"]],
  ])("%s", (_, name, place, expected) => {
    expect(addressesOf({ ...world, view: localityView(place) }, name)).toEqual(expected);
  });

  it("has the clusterset zones of all clients outside, and no cluster's own zone", () => {
    for (const name of ["myns.svc.clusterset.local", "dns-version.clusterset.local", "svc.cluster.local"])
      for (const type of ["A", "TXT", "SOA"])
        expect(ask({ ...world, view: localityView(EU) }, name, type)).toEqual(ask(world, name, type));
  });

  it.each(titledRows(federationTable))("changes nothing for one without: %s", (_, entry) => {
    checkCompiled(federationTable, world, entry);
  });
});
