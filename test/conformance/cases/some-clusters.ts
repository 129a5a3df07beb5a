import type { ClusterSnapshot, ExportedService } from "../../../src/snapshot/schema.ts";
import { day, endpoints, exported, imported, port, snapshot } from "../../merge/fixtures.ts";
import { absent, answers, type DnsCase, type DnsTable } from "../dns-case.ts";
import { federations } from "./federation.ts";

const Z = "clusterset.local";
const FEDERATION = `${federations[0]!.name}.svc`;
const soaOf = (zone: string, serial: number) =>
  `${zone} 5 SOA ns.dns.${zone} hostmaster.${zone} ${serial} 7200 1800 86400 5`;

const cluster = (
  clusterId: string,
  exports: Record<string, ExportedService>,
  imports: ClusterSnapshot["imports"] = {},
): ClusterSnapshot => snapshot(clusterId, { namespaces: { pay: {} }, exports, imports });
const at = (address: string, clusters?: string[], parts: Partial<ExportedService> = {}) =>
  exported({
    exportedAt: day(9),
    ports: [port("http", 80)],
    endpoints: endpoints({ address, hostname: "pod" }),
    ...(clusters !== undefined && { clusters }),
    ...parts,
  });

/** baz exports the ledger to qux alone; foo exports the books to all, and baz, the older one, to qux. */
const snapshots = [
  cluster("foo", { "pay/books": at("10.70.1.1") }),
  cluster("bar", {}),
  cluster(
    "baz",
    {
      "pay/ledger": at("10.70.3.1", ["qux"]),
      "pay/books": at("10.70.3.2", ["qux"], { exportedAt: day(1), ports: [port("http", 81)] }),
      "pay/pods": at("10.70.3.3", ["qux"], { headless: true }),
      "pay/lb": at("10.70.3.6", ["qux"], { loadBalancer: [{ ip: "192.0.2.70" }] }),
      "pay/own": at("10.70.3.4", []),
      "pay/ips": at("10.70.3.5", ["qux"]),
    },
    { "pay/ips": imported({ ips: ["10.71.3.5"], ports: [port("http", 80)] }) },
  ),
  cluster("qux", {}, { "pay/ips": imported({ ips: ["10.71.4.5"], ports: [port("http", 80)] }) }),
];

const name = (service: string) => `${service}.pay.svc.${Z}`;
const resolved = (section: string, view: string | null, service: string, ...addresses: string[]) =>
  answers(section, name(service), "A", addresses, { view });
const missing = (section: string, view: string | null, asked: string, type = "A") =>
  absent(section, asked, type, { view });
const reverse = (address: string) => `${address.split(".").reverse().join(".")}.in-addr.arpa`;
const target = (view: string | null, address: string, of: string) =>
  answers("an address has its reverse name where its name is", reverse(address), "PTR", [of], { view });
const nameless = (view: string | null, address: string): DnsCase => ({
  section: "an address has no reverse name where its name is not",
  view,
  ask: [reverse(address), "PTR"],
  rcode: "REFUSED",
});
const federated = (section: string, view: string | null, zone: string) =>
  answers(section, `lb.pay.${FEDERATION}.${zone}`, "A", ["192.0.2.70"], { view });

const reached = "a cluster resolves what is exported to it";
const kept = "a cluster resolves no service that is not exported to it";
const own = "a cluster resolves what it exports";
const combined = "a cluster's service combines the exports that reach it";
const outside = "clients outside are in no cluster, and see every export";

const cases: readonly DnsCase[] = [
  resolved(reached, "qux", "ledger", "10.70.3.1"),
  resolved(own, "baz", "ledger", "10.70.3.1"),
  missing(kept, "foo", name("ledger")),
  missing(kept, "bar", name("ledger")),
  missing(kept, "bar", `_http._tcp.${name("ledger")}`, "SRV"),
  resolved(outside, null, "ledger", "10.70.3.1"),
  resolved("an export that names nobody else is its own cluster's", "baz", "own", "10.70.3.4"),
  missing(kept, "qux", name("own")),

  resolved(combined, "foo", "books", "10.70.1.1"),
  resolved(combined, "bar", "books", "10.70.1.1"),
  resolved(combined, "qux", "books", "10.70.1.1", "10.70.3.2"),
  resolved(combined, "baz", "books", "10.70.1.1", "10.70.3.2"),
  {
    section: "conflicts are resolved among the exports that reach a cluster",
    view: "bar",
    ask: [`_http._tcp.${name("books")}`, "SRV"],
    answer: [`_http._tcp.${name("books")} 5 SRV 0 100 8080 ${name("books")}`],
    additional: [`${name("books")} 5 A 10.70.1.1`],
  },
  // Endpoints of a headless service
  resolved(reached, "qux", "pods", "10.70.3.3"),
  missing(kept, "foo", name("pods")),
  missing(kept, "foo", `pod.baz.${name("pods")}`),
  target("qux", "10.70.3.3", `pod.baz.${name("pods")}`),
  target(null, "10.70.3.3", `pod.baz.${name("pods")}`),
  nameless("foo", "10.70.3.3"),
  // Addresses of ServiceImports
  resolved(reached, "qux", "ips", "10.71.4.5"),
  resolved(own, "baz", "ips", "10.71.3.5"),
  missing("ServiceImports of others rest on exports that do not reach a cluster", "foo", name("ips")),
  nameless("foo", "10.71.3.5"),
  // Federations
  federated(reached, "qux", "federation"),
  federated(own, "baz", "federation"),
  federated(outside, null, "federation.example.com"),
  { ...missing(kept, "foo", `lb.pay.${FEDERATION}.federation`), authority: [soaOf("federation", 3)] },
  { section: "a namespace is no secret: its name exists", view: "foo", ask: [`pay.svc.${Z}`, "A"] },
];

/** ServiceExports to some clusters only (KEP-1645 as kubernetes/enhancements#6329 changes it). */
export const someClustersTable: DnsTable = {
  title: "exports to some clusters",
  snapshots,
  federations,
  serial: 3,
  soa: soaOf(Z, 3),
  cases,
};
