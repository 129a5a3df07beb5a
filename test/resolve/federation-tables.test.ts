import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import type { ClusterSnapshot, ExportedService } from "../../src/snapshot/schema.ts";
import { compileZoneImage } from "../../src/zone/compile.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld } from "./ask.ts";

const F = "myfederation.svc.federation";
const federations = [{ name: "myfederation", zone: "federation", domain: "federation.example.com" }];

function cluster(
  clusterId: string,
  region: string | undefined,
  zones: string[],
  exports: Record<string, ExportedService>,
): ClusterSnapshot {
  return snapshot(clusterId, {
    namespaces: { myns: {} },
    ...(region === undefined ? {} : { topology: { region, zones } }),
    exports,
  });
}

const shard = (clusterIP: string, ...ips: string[]) =>
  exported({ serviceType: "LoadBalancer", clusterIPs: [clusterIP], loadBalancer: ips.map((ip) => ({ ip })) });
const named = (clusterIP: string, hostname: string) =>
  exported({ serviceType: "LoadBalancer", clusterIPs: [clusterIP], loadBalancer: [{ hostname }] });
const pets = (address: string, zone: string) =>
  exported({ headless: true, endpoints: endpoints({ address, hostname: "pet-0", zone }) });

// The seed's example: myservice in myns of foo, bar and baz; and qux, near foo.
const foo = cluster("foo", "eu", ["eu-1"], {
  "myns/myservice": shard("10.0.3.64", "104.32.64.128"),
  "myns/pets": pets("10.0.0.1", "eu-1"),
  "myns/aws": named("10.0.3.70", "foo.elb.example.net"),
  "myns/mixed": named("10.0.3.71", "foo-mixed.elb.example.net"),
});
const bar = cluster("bar", "us", ["us-1"], {
  "myns/myservice": shard("10.0.4.20", "104.32.64.130"),
  "myns/pets": pets("10.1.0.1", "us-1"),
  "myns/mixed": shard("10.0.4.71", "104.32.64.131"),
});
const baz = cluster("baz", "eu", ["eu-2"], {
  "myns/myservice": shard("10.56.62.6", "108.120.45.12"),
  "myns/pets": pets("10.2.0.1", "eu-2"),
});
const qux = cluster("qux", "eu", ["eu-1", "eu-3"], { "myns/myservice": shard("10.9.0.1", "198.51.100.9") });
const away = cluster("away", undefined, [], {});
const near = cluster("near", "eu", ["eu-2"], {});

const world = compileWorld([foo, bar, baz, qux, away, near], { federations });
const service = `myservice.myns.${F}`;

/** Addresses in the order of the answer. */
function addresses(name: string, view?: string, rotation = 0): readonly string[] {
  return ask({ ...world, view, rotation }, name, "A").answer.map((record) =>
    record.split(" ").slice(2).join(" "),
  );
}

const a = (...ips: string[]) => ips.map((ip) => `A ${ip}`);

describe("internal clients (federated service discovery, Internal Clients)", () => {
  it.each([
    [
      "its own clusterIP first, then same zone, same region, any",
      "foo",
      ["10.0.3.64", "198.51.100.9", "108.120.45.12", "104.32.64.130"],
    ],
    ["the only one of its region", "bar", ["10.0.4.20", "108.120.45.12", "104.32.64.128", "198.51.100.9"]],
    ["same region before any", "baz", ["10.56.62.6", "104.32.64.128", "198.51.100.9", "104.32.64.130"]],
    ["no shard of its own", "near", ["108.120.45.12", "104.32.64.128", "198.51.100.9", "104.32.64.130"]],
    ["nowhere in particular", "away", ["104.32.64.130", "108.120.45.12", "104.32.64.128", "198.51.100.9"]],
    ["no source cluster", undefined, ["104.32.64.130", "108.120.45.12", "104.32.64.128", "198.51.100.9"]],
  ])("%s (%s)", (_, view, expected) => {
    expect(addresses(service, view)).toEqual(a(...expected));
  });

  it("keeps the order on the wire", () => {
    for (const rotation of [1, 2, 3])
      expect(addresses(service, "foo", rotation)).toEqual(addresses(service, "foo"));
  });

  it.each([
    ["foo", ["10.0.0.1", "10.2.0.1", "10.1.0.1"]],
    ["bar", ["10.1.0.1", "10.2.0.1", "10.0.0.1"]],
    ["near", ["10.2.0.1", "10.0.0.1", "10.1.0.1"]],
  ])("headless likewise, with endpoints (%s)", (view, expected) => {
    expect(addresses(`pets.myns.${F}`, view)).toEqual(a(...expected));
  });

  it.each([
    ["a shard from outside it", `bar.${service}`, "foo", ["104.32.64.130"]],
    ["its own shard", `foo.${service}`, "foo", ["10.0.3.64"]],
    [
      "a region",
      `${service.replace(".svc.", ".svc.eu.")}`,
      "foo",
      ["10.0.3.64", "198.51.100.9", "108.120.45.12"],
    ],
    ["a zone", `${service.replace(".svc.", ".svc.eu-2.eu.")}`, "foo", ["108.120.45.12"]],
    ["a region, from outside", `${service.replace(".svc.", ".svc.us.")}`, undefined, ["104.32.64.130"]],
    ["one endpoint of a shard", `pet-0.bar.pets.myns.${F}`, "foo", ["10.1.0.1"]],
  ])("a client can name %s", (_, name, view, expected) => {
    expect(addresses(name, view)).toEqual(a(...expected));
  });

  it.each([
    ["another federation", "myservice.myns.other.svc.federation"],
    ["a region without shards", service.replace(".svc.", ".svc.asia.")],
    ["a cluster without a shard", `near.${service}`],
    ["a service that nobody exports", `none.myns.${F}`],
  ])("%s is NXDOMAIN", (_, name) => {
    expect(ask({ ...world, view: "foo" }, name, "A").rcode).toBe("NXDOMAIN");
  });

  it("a load balancer's host name is an alias where a name has no address (decided: CNAME)", () => {
    expect(addresses(`aws.myns.${F}`, "bar")).toEqual(["CNAME foo.elb.example.net"]);
    expect(addresses(`aws.myns.${F}`, "foo")).toEqual(a("10.0.3.70"));
    expect(addresses(`foo.mixed.myns.${F}`, "bar")).toEqual(["CNAME foo-mixed.elb.example.net"]);
    expect(addresses(`mixed.myns.${F}`, "away")).toEqual(a("104.32.64.131"));
    const { findings } = compileZoneImage(mergeClusterset([foo, bar]), { federations });
    expect(new Set(findings.map(({ reason, name }) => `${reason} ${name}`))).toEqual(
      new Set(["HostNameLeftOut mixed"]),
    );
  });

  it("a shard whose lease runs out leaves, and bounds the TTL until then", () => {
    const { image } = world;
    const leaseExpiry = Float64Array.from(image.leaseGroups, (group) =>
      group.includes("bar") ? 2500 : Number.POSITIVE_INFINITY,
    );
    expect(ask({ ...world, leaseExpiry }, service, "A").answer[0]).toContain(" 2 A ");
    expect(ask({ ...world, leaseExpiry }, `foo.${service}`, "A").answer[0]).toContain(" 5 A ");
  });
});

describe("external clients (federated service discovery, External Clients)", () => {
  const external = "myfederation.svc.federation.example.com";

  it("all shards' load balancers, whoever asks, side by side with the internal zone", () => {
    const expected = a("104.32.64.130", "108.120.45.12", "104.32.64.128", "198.51.100.9");
    for (const view of [undefined, "foo", "bar"])
      expect(addresses(`myservice.myns.${external}`, view)).toEqual(expected);
  });

  it.each([
    ["a shard", `baz.myservice.myns.${external}`, "108.120.45.12"],
    ["a region", "myservice.myns.myfederation.svc.us.federation.example.com", "104.32.64.130"],
    ["a zone", "myservice.myns.myfederation.svc.eu-2.eu.federation.example.com", "108.120.45.12"],
  ])("can name %s", (_, name, expected) => {
    expect(addresses(name)).toEqual(a(expected));
  });

  it("never has cluster IPs or endpoints", () => {
    expect(ask({ ...world, view: "foo" }, `pets.myns.${external}`, "A").rcode).toBe("NXDOMAIN");
    expect(addresses(`aws.myns.${external}`, "foo")).toEqual(["CNAME foo.elb.example.net"]);
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
  ])("refuses one zone for two kinds: %j", (claimed) => {
    expect(() => compileZoneImage(mergeClusterset([foo]), { federations: claimed })).toThrow("claimed");
  });
});
