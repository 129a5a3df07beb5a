import { describe, expect, it, vi } from "vitest";
import { surveyOf } from "../../src/gateway/survey.ts";
import type { KeyWorld } from "../../src/names/key-world.ts";
import { keysOf, listRecords } from "../../src/names/listing.ts";
import { type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import type { Endpoint } from "../../src/snapshot/schema.ts";
import { type Locality, localityView } from "../../src/zone/world.ts";
import { alias, clusterLocalTable, east, local } from "../conformance/cases/cluster-local.ts";
import { clustersetTable } from "../conformance/cases/clusterset.ts";
import { federations, federationTable, foo } from "../conformance/cases/federation.ts";
import { someClustersTable } from "../conformance/cases/some-clusters.ts";
import { checkCompiled, compileTable } from "../conformance/compiled-table.ts";
import { titledRows } from "../conformance/dns-case.ts";
import { endpoints, exported, exporting, imported, port, snapshot } from "../merge/fixtures.ts";
import { worldOf } from "../names/world-of.ts";
import { ask, compileWorld, encodeQuery, leasesUntil } from "./ask.ts";
import { twoClusters } from "./world.ts";

describe(someClustersTable.title, () => {
  const world = compileTable(someClustersTable);

  it.each(titledRows(someClustersTable))("%s", (_, entry) => {
    checkCompiled(someClustersTable, world, entry);
  });
});

describe("clusterset zones", () => {
  const Z = "clusterset.local";
  const web = `web.shop.svc.${Z}`;
  const options = { zones: [`${Z}.`, "clusterset.test."], serial: 7 };
  const world = compileTable(clustersetTable);

  describe(clustersetTable.title, () => {
    it.each(titledRows(clustersetTable))("%s", (_, entry) => {
      checkCompiled(clustersetTable, world, entry);
    });

    it.each<[string, object, string[], string[]]>([
      ["an endpoint: where it listens", {}, ["10.0.0.1"], ["8080"]],
      [
        "a load balancer: that of the Service",
        { loadBalancer: [{ ip: "192.0.2.1" }] },
        ["192.0.2.1"],
        ["80"],
      ],
      ["an external IP: that of the Service", { externalIPs: ["192.0.2.2"] }, ["192.0.2.2"], ["80"]],
    ])("RFC 2782: the port of SRV is that of %s", (_, parts, addresses, ports) => {
      const own = { ports: [port("http", 80)], endpoints: endpoints({ address: "10.0.0.1" }), ...parts };
      const mapped = compileWorld([exporting("east", own)], options);
      expect(ask(mapped, web, "A").answer).toEqual(addresses.map((one) => `${web} 5 A ${one}`));
      for (const name of [web, `_http._tcp.${web}`])
        expect(ask(mapped, name, "SRV").answer).toEqual(
          ports.map((one) => `${name} 5 SRV 0 100 ${one} ${web}`),
        );
    });

    it("RFC 2782: a view without an address has no SRV record, and no name less", () => {
      const ports = [port("http", 80)];
      const parts = (ips: string[]) => ({
        exports: { "shop/web": exported({ ports }) },
        imports: { "shop/web": imported({ ports, ips }) },
      });
      const east = snapshot("east", parts([]));
      const west = snapshot("west", parts(["10.201.0.1"]));
      const context = compileWorld([east, west], options);
      for (const name of [web, `_http._tcp.${web}`]) {
        expect(ask({ ...context, view: "east" }, name, "SRV")).toMatchObject({
          rcode: "NOERROR",
          answer: [],
        });
        for (const view of [undefined, "west"])
          expect(ask({ ...context, view }, name, "SRV").answer).toHaveLength(1);
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
      const headless = (exportedAt: string, hostname?: string) =>
        exported({
          exportedAt,
          headless: true,
          endpoints: endpoints({ address: "10.0.0.6", ...(hostname && { hostname }) }),
        });
      const twice = snapshot("east", {
        exports: {
          "shop/all": headless("2026-01-01T00:00:00Z"),
          "shop/db": headless("2026-01-02T00:00:00Z", "db-0"),
        },
      });
      const name = "6.0.0.10.in-addr.arpa";
      expect(ask(compileWorld([twice], options), name, "PTR").answer).toEqual([
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
});

describe("zones of clusters", () => {
  const Z = "cluster.local";
  const kubernetes = `kubernetes.default.svc.${Z}`;
  const world = compileTable(clusterLocalTable);

  describe(clusterLocalTable.title, () => {
    it.each(titledRows(clusterLocalTable))("%s", (_, entry) => {
      checkCompiled(clusterLocalTable, world, entry);
    });

    it("does not exist for an unknown cluster", () => {
      expect(ask({ ...world, view: "nobody" }, kubernetes, "A")).toMatchObject({
        rcode: "REFUSED",
        answer: [],
      });
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

    it.each([
      ["the older alias keeps the name", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "one.example"],
      ["the older alias keeps the name", "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z", "two.example"],
    ])("if two names clash, %s (%s, %s)", (_, first, second, target) => {
      const clashing = {
        ...east,
        services: {
          "default/one": alias("one.example", { createdAt: first, ownedName: "a.b" }),
          "default/two": alias("two.example", { createdAt: second, ownedName: "a.b" }),
        },
      };
      const { findings } = surveyOf(worldOf([clashing]));
      expect(findings.map(({ reason, name }) => [reason, name])).toEqual([
        ["NameClash", target === "one.example" ? "two" : "one"],
      ]);
      const context = compileWorld([clashing], {}, { view: "east" });
      expect(ask(context, `a.b.default.svc.${Z}`, "A").answer).toEqual([
        `a.b.default.svc.${Z} 5 CNAME ${target}`,
      ]);
    });

    it("a hostname below a headless service can clash with another name", () => {
      const clashing = {
        ...east,
        services: {
          "default/db": local({
            headless: true,
            endpoints: endpoints({ address: "10.3.0.7", hostname: "db-0" }),
          }),
          "default/two": alias("two.example", { createdAt: "2026-03-01T00:00:00Z", ownedName: "db-0.db" }),
        },
      };
      const context = compileWorld([clashing], {}, { view: "east" });
      expect(ask(context, `db-0.db.default.svc.${Z}`, "A").answer).toEqual([
        `db-0.db.default.svc.${Z} 5 A 10.3.0.7`,
      ]);
    });
  });
});

describe("federation zones", () => {
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
      const [older, younger] = ["2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"];
      const headless = snapshot("east", {
        namespaces: { myns: {} },
        exports: {
          "myns/pets": exported({
            exportedAt: isOldestHeadless ? older : younger,
            headless: true,
            externalIPs: ["192.0.2.9"],
            endpoints: endpoints({ address: "10.1.0.1" }),
          }),
        },
      });
      const other = snapshot("west", {
        namespaces: { myns: {} },
        exports: {
          "myns/pets": exported({
            exportedAt: isOldestHeadless ? younger : older,
            serviceType: "LoadBalancer",
            clusterIPs: ["10.96.0.1"],
            loadBalancer: [{ ip: "192.0.2.1" }],
            endpoints: endpoints({ address: "10.2.0.1" }),
          }),
        },
      });
      const mixed = compileWorld([headless, other], { federations });
      const pets = "pets.myns.myfederation.svc.federation";
      for (const view of ["east", "west"]) {
        const { answer } = ask({ ...mixed, view }, pets, "A");
        expect(answer.map((text) => text.split(" ")[3])).toEqual(expected[view]);
      }
      expect(ask(mixed, `${pets}.example.com`, "A").rcode).toBe(isOldestHeadless ? "NXDOMAIN" : "NOERROR");
    });

    it("has the endpoints of the oldest export first, and those whose hostnames differ in case under one name", () => {
      const shard = (clusterId: string, month: string, ...members: Endpoint[]) =>
        snapshot(clusterId, {
          namespaces: { myns: {} },
          exports: {
            "myns/pets": exported({
              exportedAt: `2026-${month}-01T00:00:00Z`,
              headless: true,
              endpoints: endpoints(...members),
            }),
          },
        });
      const younger = shard("east", "06", { address: "10.1.0.1" });
      const upper = { address: "10.2.0.1", hostname: "POD-0" };
      const older = shard("west", "01", upper, { address: "10.2.0.2", hostname: "pod-0" });
      const context = compileWorld([younger, older], { federations });
      const pets = "pets.myns.myfederation.svc.federation";
      const addressesOf = (name: string) => ask(context, name, "A").answer.map((text) => text.split(" ")[3]);
      expect(addressesOf(pets).at(-1)).toBe("10.1.0.1");
      expect(addressesOf(`pod-0.west.${pets}`)).toEqual(["10.2.0.1", "10.2.0.2"]);
    });

    it("removes a shard whose lease expired, and bounds the TTL until then", () => {
      const leases = leasesUntil((clusterId) => (clusterId === "bar" ? 2500 : Number.POSITIVE_INFINITY));
      expect(ask({ ...world, leases }, service, "A").answer[0]).toContain(" 2 A ");
      expect(ask({ ...world, leases }, `foo.${service}`, "A").answer[0]).toContain(" 5 A ");
    });
  });

  describe("a name above those of services", () => {
    const endpointsOf = (index: number) => endpoints({ address: `10.1.0.${index}`, hostname: "pet" });
    const exports = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `myns/pets-${index}`,
        exported({ headless: true, endpoints: endpointsOf(index) }),
      ]),
    );
    const topology = { region: "eu", zones: ["eu-1"] };
    const many = snapshot("east", { namespaces: { myns: {} }, topology, exports });
    const [internal, external] = ["federation", "federation.example.com"];

    it.each([
      [internal, 0],
      [`svc.${internal}`, 0],
      [`myfederation.svc.${internal}`, 0],
      [`eu.${internal}`, 0],
      [`anything.eu.${internal}`, 0],
      [`svc.anything.eu.${internal}`, 0],
      [`myfederation.svc.eu.${external}`, 0],
      [`myns.myfederation.svc.${internal}`, 1],
      // Headless services have no names there.
      [`myns.myfederation.svc.anything.eu.${external}`, 1],
    ])("%s exists, and services are compiled for it: %i", (name, count) => {
      const context = compileWorld([many], { federations });
      const compile = vi.spyOn(context.world as KeyWorld, "compile");
      expect(ask(context, name, "A")).toMatchObject({ rcode: "NOERROR", answer: [] });
      expect(compile.mock.calls.filter(([, key]) => key in exports)).toHaveLength(count);
    });

    it.each([
      `us.${internal}`,
      `anything.us.${internal}`,
      `other.svc.eu.${internal}`,
      `nothing.myfederation.svc.${internal}`,
      `a.b.eu.${internal}`,
    ])("%s is NXDOMAIN without a service compiled", (name) => {
      const context = compileWorld([many], { federations });
      const compile = vi.spyOn(context.world as KeyWorld, "compile");
      expect(ask(context, name, "A").rcode).toBe("NXDOMAIN");
      expect(compile.mock.calls.filter(([, key]) => key in exports)).toEqual([]);
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

describe("localities", () => {
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
    return ask({ ...context, view: localityView(place) }, name, "A").answer.map(
      (text) => text.split(" ")[3]!,
    );
  }

  describe("a client outside with a locality (federated service discovery)", () => {
    it.each([
      ["Objective: same region, then any", service, { region: "eu" }, [BAZ, FOO, QUX, BAR]],
      ["Objective: the only shard of the region, then any", service, { region: "us" }, [BAR, BAZ, FOO, QUX]],
      [
        "Objective: same zone, same region, any",
        service,
        { region: "eu", zone: "eu-2" },
        [BAZ, FOO, QUX, BAR],
      ],
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

    it("cost names nothing without configured ones or without a federation", () => {
      const namesOf = ({ world }: ReturnType<typeof compileWorld>) =>
        world.context.trees.flatMap((tree) =>
          keysOf(world, tree).map((key) => world.unitOf(tree, key).key?.bytes),
        );
      const without = namesOf(compileTable(federationTable));
      expect(namesOf(compileWorld(federationTable.snapshots, { ...options, localities: [] }))).toEqual(
        without,
      );
      expect(namesOf(compileWorld([foo], { localities: places }))).toEqual(namesOf(compileWorld([foo])));
      expect(namesOf(world)).not.toEqual(without);
    });
  });
});
