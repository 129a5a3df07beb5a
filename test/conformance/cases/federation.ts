import type { ClusterSnapshot, ExportedService } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";
import { absent, answers, type DnsCase, type DnsTable, leads } from "../dns-case.ts";

/** A cluster with the namespace `myns`, in a region. */
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

/** The specification's example: myservice in myns of foo, bar and baz; and qux, near foo. */
export const foo = cluster("foo", "eu", ["eu-1"], {
  "myns/myservice": shard("10.0.3.64", "104.32.64.128"),
  "myns/pets": pets("10.0.0.1", "eu-1"),
  "myns/aws": named("10.0.3.70", "foo.elb.example.net"),
  "myns/mixed": named("10.0.3.71", "foo-mixed.elb.example.net"),
});
/** A cluster in another region. */
export const bar = cluster("bar", "us", ["us-1"], {
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

const INTERNAL = "federation";
const EXTERNAL = "federation.example.com";
/** The federation of the table. */
export const federations = [{ name: "myfederation", zone: INTERNAL, domain: EXTERNAL }];

const soaOf = (zone: string) => `${zone} 5 SOA ns.dns.${zone} hostmaster.${zone} 1 7200 1800 86400 5`;
const F = `myfederation.svc.${INTERNAL}`;
const E = `myfederation.svc.${EXTERNAL}`;
const service = `myservice.myns.${F}`;
/** The load balancers of the shards, by cluster. */
const [FOO, BAR, BAZ, QUX] = ["104.32.64.128", "104.32.64.130", "108.120.45.12", "198.51.100.9"] as const;
const ANYWHERE = [BAR, BAZ, FOO, QUX];
const OF_FOO = ["10.0.3.64", QUX, BAZ, BAR];
const [PET_FOO, PET_BAR, PET_BAZ] = ["10.0.0.1", "10.1.0.1", "10.2.0.1"] as const;

/** A row with addresses of one name, in this order. */
const addresses = (section: string, name: string, view: string | null, ips: readonly string[]): DnsCase =>
  answers(section, name, "A", ips, { view });
const alias = (name: string, view: string | null, target: string): DnsCase =>
  leads(
    "Implementation, a load balancer's host name (decided: CNAME where a name has no address)",
    name,
    "A",
    target,
    { view },
  );
const missing = (section: string, name: string, zone: string): DnsCase =>
  absent(section, name, "A", { view: "foo", authority: [soaOf(zone)] });
const inRegion = (name: string, place: string) => name.replace(".svc.", `.svc.${place}.`);

const internal = "Internal Clients";
const external = "External Clients";

const cases: readonly DnsCase[] = [
  addresses(`${internal}: its own clusterIP, then same zone, same region, any`, service, "foo", OF_FOO),
  addresses(`${internal}: the only one of its region`, service, "bar", ["10.0.4.20", BAZ, FOO, QUX]),
  addresses(`${internal}: same region before any`, service, "baz", ["10.56.62.6", FOO, QUX, BAR]),
  addresses(`${internal}: no shard of its own`, service, "near", [BAZ, FOO, QUX, BAR]),
  addresses(`${internal}: nowhere in particular`, service, "away", ANYWHERE),
  addresses(`${internal}: no source cluster`, service, null, ANYWHERE),
  ...Object.entries({
    foo: [PET_FOO, PET_BAZ, PET_BAR],
    bar: [PET_BAR, PET_BAZ, PET_FOO],
    near: [PET_BAZ, PET_FOO, PET_BAR],
  }).map(([view, pets]) => addresses(`${internal}: headless, with endpoints`, `pets.myns.${F}`, view, pets)),
  addresses(`${internal}: a shard from outside it`, `bar.${service}`, "foo", [BAR]),
  addresses(`${internal}: its own shard`, `foo.${service}`, "foo", ["10.0.3.64"]),
  addresses(`${internal}: a region`, inRegion(service, "eu"), "foo", ["10.0.3.64", QUX, BAZ]),
  addresses(`${internal}: a zone`, inRegion(service, "eu-2.eu"), "foo", [BAZ]),
  addresses(`${internal}: a region, from outside`, inRegion(service, "us"), null, [BAR]),
  addresses(`${internal}: one endpoint of a shard`, `pet-0.bar.pets.myns.${F}`, "foo", ["10.1.0.1"]),
  missing(`${internal}: another federation`, "myservice.myns.other.svc.federation", INTERNAL),
  missing(`${internal}: a region without shards`, inRegion(service, "asia"), INTERNAL),
  missing(`${internal}: a cluster without a shard`, `near.${service}`, INTERNAL),
  missing(`${internal}: a service that nobody exports`, `none.myns.${F}`, INTERNAL),
  alias(`aws.myns.${F}`, "bar", "foo.elb.example.net"),
  addresses("Implementation, its own shard has an address", `aws.myns.${F}`, "foo", ["10.0.3.70"]),
  alias(`foo.mixed.myns.${F}`, "bar", "foo-mixed.elb.example.net"),
  addresses("Implementation, another shard has an address", `mixed.myns.${F}`, "away", ["104.32.64.131"]),
  // All shards' load balancers in every view, next to the internal zone.
  ...[null, "foo", "bar"].map((view) =>
    addresses(`${external}: all load balancers, in every view`, `myservice.myns.${E}`, view, ANYWHERE),
  ),
  addresses(`${external}: a shard`, `baz.myservice.myns.${E}`, null, [BAZ]),
  addresses(`${external}: a region`, inRegion(`myservice.myns.${E}`, "us"), null, [BAR]),
  addresses(`${external}: a zone`, inRegion(`myservice.myns.${E}`, "eu-2.eu"), null, [BAZ]),
  missing(`${external}: never endpoints`, `pets.myns.${E}`, EXTERNAL),
  alias(`aws.myns.${E}`, "foo", "foo.elb.example.net"),
];

/** The zones of a federation (federated service discovery, sections by heading). */
export const federationTable: DnsTable = {
  title: "the zones of a federation",
  snapshots: [foo, bar, baz, qux, away, near],
  federations,
  serial: 1,
  soa: soaOf(INTERNAL),
  inOrder: true,
  cases,
};
