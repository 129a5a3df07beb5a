import type { LocalService } from "../../../src/snapshot/schema.ts";
import { endpoints, port, snapshot } from "../../merge/fixtures.ts";
import { absent, answers, type DnsCase, type DnsTable, leads } from "../dns-case.ts";

const Z = "cluster.local";
const SOA = `${Z} 5 SOA ns.dns.${Z} hostmaster.${Z} 1 7200 1800 86400 5`;

/** A Service of a cluster. */
export function local(parts: Partial<LocalService> = {}): LocalService {
  return {
    createdAt: "2026-01-01T00:00:00Z",
    serviceType: "ClusterIP",
    headless: false,
    ports: [],
    endpoints: {},
    ...parts,
  };
}

/** An ExternalName Service. */
export const alias = (externalName: string, parts: Partial<LocalService> = {}) =>
  local({ serviceType: "ExternalName", externalName, ...parts });

/** The Services of "east". */
export const services: Record<string, LocalService> = {
  "default/kubernetes": local({
    clusterIPs: ["10.3.0.1", "fd00:3::1"],
    ports: [port("https", 443), port("", 9)],
  }),
  "default/headless": local({
    headless: true,
    endpoints: endpoints(
      { address: "10.3.0.100", hostname: "my-pet" },
      { address: "10.3.0.101", hostname: "my-pet" },
      { address: "10.3.0.102" },
      { address: "10.3.0.103", ready: false },
    ),
  }),
  "default/unready": local({ headless: true, endpoints: endpoints({ address: "10.3.0.9", ready: false }) }),
  "default/eager": local({
    headless: true,
    publishNotReadyAddresses: true,
    endpoints: endpoints({ address: "10.3.0.10", ready: false }),
  }),
  "default/foo": alias("www.example.com"),
  "default/hop": alias(`kubernetes.default.svc.${Z}`),
  "default/lost": alias(`nothing.default.svc.${Z}`),
  "default/circle": alias(`circle.default.svc.${Z}`),
  "default/over": alias("web.shop.svc.clusterset.local"),
  "default/multi": alias("your-service.your-cluster", { ownedName: "My-Service.my-cluster" }),
  "default/single": alias("other.example", { ownedName: "renamed" }),
};

/** The cluster with a zone of its own. */
export const east = snapshot("east", {
  namespaces: { shop: {}, default: {} },
  clusterZone: { name: Z, pods: "insecure" },
  services,
  imports: { "shop/web": { type: "ClusterSetIP", ips: ["10.200.0.1"], ports: [], endpoints: {} } },
});
const west = snapshot("west", {
  namespaces: { default: {} },
  clusterZone: { name: `${Z}.`, pods: "verified" },
  services: { "default/kubernetes": local({ clusterIPs: ["10.4.0.1"] }) },
  pods: { "default/10.8.0.1": {}, "default/fd00:8::1": {}, "default/fd00:9::": {}, "gone/10.8.0.2": {} },
});
const north = snapshot("north", { namespaces: { default: {} } });

const kubernetes = `kubernetes.default.svc.${Z}`;
const headless = `headless.default.svc.${Z}`;
const [hop, over] = [`hop.default.svc.${Z}`, `over.default.svc.${Z}`];
const exported = "web.shop.svc.clusterset.local";

const cases: readonly DnsCase[] = [
  { section: "2.2", ask: [`dns-version.${Z}`, "TXT"], answer: [`dns-version.${Z} 28800 TXT "1.0.1"`] },
  { section: "2.3.1", ask: [kubernetes, "A"], answer: [`${kubernetes} 5 A 10.3.0.1`] },
  { section: "2.3.1, dual stack", ask: [kubernetes, "AAAA"], answer: [`${kubernetes} 5 AAAA fd00:3::1`] },
  answers("2.3.1, each cluster has its own", kubernetes, "A", ["10.4.0.1"], { view: "west" }),
  answers("2.3.2", `_https._tcp.${kubernetes}`, "SRV", [`0 100 443 ${kubernetes}`], {
    additional: [`${kubernetes} 5 A 10.3.0.1`, `${kubernetes} 5 AAAA fd00:3::1`],
  }),
  answers("2.3.2, all named ports", kubernetes, "SRV", [`0 100 443 ${kubernetes}`], {
    additional: [`${kubernetes} 5 A 10.3.0.1`, `${kubernetes} 5 AAAA fd00:3::1`],
  }),
  answers("2.3.3", "1.0.3.10.in-addr.arpa", "PTR", [`${kubernetes}`]),
  answers("2.4.1", headless, "A", ["10.3.0.100", "10.3.0.101", "10.3.0.102"]),
  answers("2.4.1, several addresses for one hostname", `my-pet.${headless}`, "A", [
    "10.3.0.100",
    "10.3.0.101",
  ]),
  answers("2.1, system-assigned hostname", `10-3-0-102.${headless}`, "A", ["10.3.0.102"]),
  { section: "2.1, not ready", ask: [`10-3-0-103.${headless}`, "A"], rcode: "NXDOMAIN" },
  { section: "2.4.1, nothing ready", ask: [`unready.default.svc.${Z}`, "A"], rcode: "NXDOMAIN" },
  answers("2.1, tolerated unready", `eager.default.svc.${Z}`, "A", ["10.3.0.10"]),
  answers(
    "2.4.2",
    `_http._tcp.${headless}`,
    "SRV",
    ["my-pet", "10-3-0-102"].map((host) => `0 50 8080 ${host}.${headless}`),
    {
      additional: [
        `my-pet.${headless} 5 A 10.3.0.100`,
        `my-pet.${headless} 5 A 10.3.0.101`,
        `10-3-0-102.${headless} 5 A 10.3.0.102`,
      ],
    },
  ),
  answers("2.4.3", "100.0.3.10.in-addr.arpa", "PTR", [`my-pet.${headless}`]),
  ...["A", "CNAME", "TXT"].map((type) =>
    leads("2.5, RFC 1034 3.6.2", `foo.default.svc.${Z}`, type, "www.example.com"),
  ),
  {
    section: "2.5, followed in our zones (RFC 1034 4.3.2)",
    ask: [hop, "A"],
    answer: [`${hop} 5 CNAME ${kubernetes}`, `${kubernetes} 5 A 10.3.0.1`],
  },
  {
    section: "2.5, followed into another of our zones",
    ask: [over, "A"],
    answer: [`${over} 5 CNAME ${exported}`, `${exported} 5 A 10.200.0.1`],
  },
  leads("2.5, followed to NODATA (RFC 2308 2.2)", hop, "TXT", kubernetes, { authority: [SOA] }),
  leads("2.5, followed to NXDOMAIN (RFC 6604)", `lost.default.svc.${Z}`, "A", `nothing.default.svc.${Z}`, {
    rcode: "NXDOMAIN",
    authority: [SOA],
  }),
  leads("multi-label CNAME", `my-service.my-cluster.default.svc.${Z}`, "A", "your-service.your-cluster"),
  { section: "multi-label CNAME, the label between (RFC 8020)", ask: [`my-cluster.default.svc.${Z}`, "A"] },
  absent("multi-label CNAME, takes the role of metadata.name", `multi.default.svc.${Z}`, "A"),
  leads("multi-label CNAME, one label", `renamed.default.svc.${Z}`, "A", "other.example"),
  answers("2.6, insecure", `1-2-3-4.default.pod.${Z}`, "A", ["1.2.3.4"]),
  answers("2.6, insecure, IPv6", `2001-db8--1.shop.pod.${Z}`, "AAAA", ["2001:db8::1"]),
  absent("2.6, an IPv4-mapped address", `--ffff-102-304.default.pod.${Z}`, "A"),
  { section: "2.6, any type, the namespace itself", ask: [`default.pod.${Z}`, "ANY"] },
  { section: "2.6, the other family", ask: [`1-2-3-4.default.pod.${Z}`, "AAAA"] },
  absent("2.6, no address", `web.default.pod.${Z}`, "A"),
  absent("2.6, beyond 255", `1-2-3-400.default.pod.${Z}`, "A"),
  absent("2.6, no such namespace", `1-2-3-4.gone.pod.${Z}`, "A"),
  absent("2.6, two labels", `x.1-2-3-4.default.pod.${Z}`, "A"),
  { section: "2.6, the namespace itself", ask: [`default.pod.${Z}`, "A"] },
  answers("2.6, verified", `10-8-0-1.default.pod.${Z}`, "A", ["10.8.0.1"], { view: "west" }),
  answers("2.6, verified, IPv6", `fd00-8--1.default.pod.${Z}`, "AAAA", ["fd00:8::1"], { view: "west" }),
  ...["fd00-9--", "fd00-9--0"].map((label) =>
    answers("2.6, verified, IPv6 that ends in a dash", `${label}.default.pod.${Z}`, "AAAA", ["fd00:9::"], {
      view: "west",
    }),
  ),
  absent("2.6, verified, no such pod", `10-8-0-9.default.pod.${Z}`, "A", { view: "west" }),
  answers("2.1, case-insensitive", `KuberNetes.Default.SVC.cluster.LOCAL`, "A", ["10.3.0.1"]),
  { section: "RFC 1034 4.2.1", ask: [Z, "SOA"], answer: [SOA] },
  { section: "RFC 2308", ask: [`nothing.${Z}`, "A"], rcode: "NXDOMAIN" },
  { section: "2.5, an alias that leads to itself has no record", ask: [`circle.default.svc.${Z}`, "CNAME"] },
  // Only its own cluster has the zone
  ...[null, "north"].flatMap((view) =>
    [[kubernetes, "A"] as const, ["1.0.3.10.in-addr.arpa", "PTR"] as const].map((ask) => ({
      section: "docs/reference/names-and-records.md, no such zone for others",
      view,
      ask,
      rcode: "REFUSED" as const,
    })),
  ),
  absent(
    "docs/reference/names-and-records.md, cluster.local answers stay local",
    "kubernetes.default.svc.clusterset.local",
    "A",
    { authority: [SOA.replaceAll(Z, "clusterset.local")] },
  ),
];

/** The zone of the cluster "east", in its view (DNS-based service discovery 1.0.1, sections by number). */
export const clusterLocalTable: DnsTable = {
  title: "the zone of one cluster",
  snapshots: [east, west, north],
  serial: 1,
  soa: SOA,
  view: "east",
  cases,
};
