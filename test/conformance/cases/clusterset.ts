import { twoClusters } from "../../resolve/world.ts";
import { absent, answers, type DnsCase, type DnsTable } from "../dns-case.ts";

const Z = "clusterset.local";
const soaOf = (apex: string) => `${apex} 5 SOA ns.dns.${Z} hostmaster.${Z} 7 7200 1800 86400 5`;

const db = `db.shop.svc.${Z}`;
const dbTargets = ["db-0.east", "db-0.west", "db-1.east", "db-1.west"].map(
  (host) => `0 25 5433 ${host}.${db}`,
);
const dbAddresses = [
  `db-0.east.${db} 5 A 10.1.0.1`,
  `db-0.east.${db} 5 AAAA 2001:db8:1::1`,
  `db-1.east.${db} 5 A 10.1.0.2`,
  `db-0.west.${db} 5 A 10.2.0.1`,
  `db-0.west.${db} 5 AAAA 2001:db8:2::1`,
  `db-1.west.${db} 5 A 10.2.0.2`,
];
/** In the alias zone. */
const aliased = (text: string) => text.replaceAll(Z, "clusterset.test");
const web = `web.shop.svc.${Z}`;
const webAddresses = [`${web} 5 A 10.200.0.1`, `${web} 5 A 10.201.0.1`, `${web} 5 AAAA fd00::c8:1`];

const cases: readonly DnsCase[] = [
  // Schema version
  { section: "2.2", ask: [`dns-version.${Z}`, "TXT"], answer: [`dns-version.${Z} 28800 TXT "1.0.0"`] },
  { section: "2.2", ask: [`dns-version.${Z}`, "A"] },
  // ClusterSetIP
  answers("2.3.1", web, "A", ["10.200.0.1", "10.201.0.1"]),
  answers("2.3.1", web, "AAAA", ["fd00::c8:1"]),
  answers("2.3.1, in the importing cluster", web, "A", ["10.200.0.1"], { view: "east" }),
  answers("2.3.1, in the importing cluster", web, "A", ["10.201.0.1"], { view: "west" }),
  { section: "2.3.1, no IPv6 in that cluster", view: "west", ask: [web, "AAAA"] },
  { section: "2.3.1, other types are NODATA", ask: [web, "HTTPS"] },
  { section: "2.3.1, other types are NODATA", ask: [web, "TXT"] },
  answers("2.3.2", `_https._tcp.${web}`, "SRV", [`0 100 443 ${web}`], { additional: webAddresses }),
  answers("2.3.2", `_dns._udp.${web}`, "SRV", [`0 100 53 ${web}`], { additional: webAddresses }),
  answers(
    "2.3.2, in an alias zone targets stay in it",
    aliased(`_https._tcp.${web}`),
    "SRV",
    [aliased(`0 100 443 ${web}`)],
    { view: "west", additional: [aliased(`${web} 5 A 10.201.0.1`)] },
  ),
  answers(
    "2.3.2, all named ports at the service's own name",
    web,
    "SRV",
    [`0 50 443 ${web}`, `0 50 53 ${web}`],
    { view: "west", additional: [`${web} 5 A 10.201.0.1`] },
  ),
  { section: "2.3.2, unnamed ports have none", ask: [`_._tcp.${web}`, "SRV"], rcode: "NXDOMAIN" },
  { section: "2.3.2, protocol is part of the name", ask: [`_https._udp.${web}`, "SRV"], rcode: "NXDOMAIN" },
  { section: "2.3.2, a port name has no address", ask: [`_https._tcp.${web}`, "A"] },
  answers("2.3.3", "1.0.200.10.in-addr.arpa", "PTR", [`${web}`]),
  answers("2.3.3, IPv6", "1.0.0.0.8.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa", "PTR", [
    `${web}`,
  ]),
  { section: "2.3.4", ask: [`east.${web}`, "A"], rcode: "NXDOMAIN" },
  { section: "2.3.4", ask: [`east.${web}`, "SRV"], rcode: "NXDOMAIN" },
  // Headless
  answers("2.4.1", db, "A", ["10.1.0.1", "10.1.0.2", "10.2.0.1", "10.2.0.2"]),
  answers("2.4.1", db, "AAAA", ["2001:db8:1::1", "2001:db8:2::1"]),
  answers("2.4.1", `db-0.west.db.shop.svc.${Z}`, "A", ["10.2.0.1"]),
  answers("2.4.1", `db-0.west.db.shop.svc.${Z}`, "AAAA", ["2001:db8:2::1"]),
  { section: "2.4.1, hostname without IPv6", ask: [`db-1.west.db.shop.svc.${Z}`, "AAAA"] },
  { section: "2.4.1, nothing ready", ask: [`idle.shop.svc.${Z}`, "A"], rcode: "NXDOMAIN" },
  { section: "2.4.1, nothing ready", ask: [`_http._tcp.idle.shop.svc.${Z}`, "SRV"], rcode: "NXDOMAIN" },
  answers("2.1, system-assigned hostname", `10-1-0-77.east.anon.shop.svc.${Z}`, "A", ["10.1.0.77"]),
  answers(
    "2.1, system-assigned hostname, IPv6 that ends in a dash",
    `fd00-1--0.east.anon.shop.svc.${Z}`,
    "AAAA",
    ["fd00:1::"],
  ),
  answers("2.4.2, N endpoints and the port of the slice", `_pg._tcp.${db}`, "SRV", dbTargets, {
    additional: dbAddresses,
  }),
  answers("2.4.2", db, "SRV", dbTargets, { additional: dbAddresses }),
  answers("2.4.3", "2.0.1.10.in-addr.arpa", "PTR", [`db-1.east.db.shop.svc.${Z}`]),
  { section: "2.4.4, names exist below (RFC 8020)", ask: [`east.db.shop.svc.${Z}`, "A"] },
  { section: "2.4.4", ask: [`east.db.shop.svc.${Z}`, "SRV"] },
  { section: "2.4.4, no such cluster", ask: [`north.db.shop.svc.${Z}`, "A"], rcode: "NXDOMAIN" },
  // Bare clusters: DESIGN, "ClusterSetIP for outside"
  answers("outside, load balancer", `log.ops.svc.${Z}`, "A", ["192.0.2.10"]),
  answers("outside, endpoints", `raw.ops.svc.${Z}`, "A", ["10.1.0.50"]),
  absent("KEP-1645, Importing Services: no such namespace", `log.ops.svc.${Z}`, "A", { view: "west" }),
  absent("KEP-1645, Importing Services: no such namespace", `ops.svc.${Z}`, "A", { view: "west" }),
  answers("KEP-1645, Importing Services", `log.ops.svc.${Z}`, "A", ["192.0.2.10"], { view: "east" }),
  // The zone itself
  { section: "RFC 1034 4.2.1", ask: [Z, "SOA"], answer: [soaOf(Z)] },
  { section: "RFC 1034 4.2.1", ask: [Z, "NS"], answer: [`${Z} 5 NS ns.dns.${Z}`] },
  { section: "RFC 2308 2.2", ask: [Z, "A"] },
  { section: "RFC 2308 2.2", ask: [Z, "DS"] },
  { section: "RFC 8020, empty non-terminal", ask: [`svc.${Z}`, "A"] },
  { section: "RFC 8020, empty non-terminal", ask: [`shop.svc.${Z}`, "SOA"] },
  { section: "RFC 8020, empty non-terminal", ask: [`_tcp.${web}`, "SRV"] },
  { section: "RFC 8020, empty non-terminal", ask: [`dns.${Z}`, "A"] },
  { section: "RFC 2308 2.1", ask: [`nothing.${Z}`, "A"], rcode: "NXDOMAIN" },
  { section: "RFC 2308 2.1", ask: [`nothing.shop.svc.${Z}`, "SOA"], rcode: "NXDOMAIN" },
  { section: "RFC 2308 2.1", ask: [`below.dns-version.${Z}`, "TXT"], rcode: "NXDOMAIN" },
  { section: "RFC 8482 4.2", ask: [web, "ANY"], answer: [`${web} 5 HINFO RFC8482 `] },
  { section: "RFC 8482, nothing there", ask: [`svc.${Z}`, "ANY"] },
  // Foreign reverse names, and names around our own
  {
    section: "2.3.3, a load balancer's address has no PTR record here",
    ask: ["10.2.0.192.in-addr.arpa", "PTR"],
    rcode: "REFUSED",
  },
  {
    section: "RFC 1034 4.2.1, a reverse name that is ours is an apex of its own",
    ask: ["1.0.200.10.in-addr.arpa", "SOA"],
    answer: [soaOf("1.0.200.10.in-addr.arpa")],
  },
  {
    section: "2.3.3, a reverse name that is ours has no other types, and its own SOA",
    ask: ["1.0.200.10.in-addr.arpa", "A"],
    authority: [soaOf("1.0.200.10.in-addr.arpa")],
  },
  answers("2.3.3, one PTR record an address, by view", "1.0.201.10.in-addr.arpa", "PTR", [`${web}`], {
    view: "west",
  }),
  // Alias zones
  answers(
    "docs/reference/names-and-records.md, an alias zone answers alike",
    "db-0.west.db.shop.svc.clusterset.test",
    "A",
    ["10.2.0.1"],
  ),
  answers(
    "2.4.2, in an alias zone targets stay in it",
    aliased(`_pg._tcp.${db}`),
    "SRV",
    dbTargets.map(aliased),
    { additional: dbAddresses.map(aliased) },
  ),
  answers("RFC 1034 4.2.1, an alias zone's name server is in it", "clusterset.test", "NS", [
    "ns.dns.clusterset.test",
  ]),
  {
    section: "2.2, in an alias zone",
    ask: ["dns-version.clusterset.test", "TXT"],
    answer: ['dns-version.clusterset.test 28800 TXT "1.0.0"'],
  },
  absent("RFC 2308 2.1, an alias zone has its own SOA", "nothing.clusterset.test", "A", {
    authority: [aliased(soaOf(Z))],
  }),
  {
    section: "docs/reference/names-and-records.md, outside every zone",
    ask: ["www.example.com", "A"],
    rcode: "REFUSED",
  },
];

/** The clusterset zone (multicluster DNS specification 1.0.0, sections by number) of two clusters. */
export const clustersetTable: DnsTable = {
  title: "the clusterset zone",
  snapshots: twoClusters(),
  zones: [Z, "clusterset.test"],
  serial: 7,
  soa: soaOf(Z),
  cases,
};
