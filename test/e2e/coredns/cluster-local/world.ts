import { randomServices } from "../worlds/random-services.ts";
import {
  endpoint,
  type ImportedSlice,
  type ImportSpec,
  type Port,
  port,
  type SliceEndpoint,
} from "../worlds/services.ts";
import { alias, clusterIp, headless, type OwnService, ownSlice } from "./services.ts";

const http = port("http", 80, "TCP");
const shop = (name: string, ips: string[], ports: Port[], ...slices: ImportedSlice[]) =>
  clusterIp("shop", name, ips, ports, ...slices);

/** Services with cluster IPs, of every shape that the API server lets through. */
const clusterIpServices: OwnService[] = [
  {
    ...clusterIp("default", "kubernetes", ["10.96.0.1"], [port("https", 443, "TCP")]),
    isBuiltIn: true,
  },
  shop(
    "web",
    ["10.96.1.1", "fd00:10:96::101"],
    [http, port("dns", 53, "UDP")],
    ownSlice([port("http", 8080)], endpoint("10.51.0.1", "w0"), endpoint("10.51.0.2")),
    ownSlice([port("http", 8080)], endpoint("fd00:51::3")),
  ),
  shop("v4", ["10.96.1.2"], [http]),
  shop("v6", ["fd00:10:96::102"], [http]),
  shop("v6-first", ["fd00:10:96::103", "10.96.1.3"], [http]),
  shop("unnamed", ["10.96.1.4"], [{ port: 80, protocol: "TCP" }]),
  shop("same-number", ["10.96.1.5"], [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP")]),
  shop(
    "protocols",
    ["10.96.1.6"],
    [port("signal", 36412, "SCTP"), port("web", 83, "TCP"), port("quic", 83, "UDP")],
  ),
  // With an underscore before it this name is longer than a label may be.
  shop("long-port", ["10.96.1.7"], [http, port("p".repeat(63), 81, "TCP")]),
  shop("manual", ["10.96.1.8"], [http], ownSlice([port("http", 9376)], endpoint("203.0.113.7", "outside"))),
  shop(
    "not-ready",
    ["10.96.1.11"],
    [http],
    ownSlice([port("http", 8080)], endpoint("10.51.1.1", "n0", "!ready")),
  ),
  shop("x".repeat(63), ["10.96.1.12"], [http]),
  clusterIp("svc", "pod", ["10.96.1.13"], [http]),
  clusterIp("pod", "svc", ["10.96.1.14"], [http]),
];

const pg = port("pg", 5432, "TCP");
const pgSlice = (...endpoints: SliceEndpoint[]) => ownSlice([pg], ...endpoints);
const data = (name: string, ...slices: ImportedSlice[]) => headless("data", name, ...slices);

/** Headless Services in the namespace `data`: usual ones, and everything that the API server lets through. */
const headlessServices: OwnService[] = [
  data(
    "db",
    pgSlice(
      endpoint("10.52.0.1", "db-0", "ready serving !terminating"),
      endpoint("10.52.0.2", undefined, ""),
      endpoint("10.52.0.3", "not-ready", "!ready"),
    ),
    pgSlice(endpoint("10.52.0.1", "db-0"), endpoint("10.52.0.6", "db-0")),
    pgSlice(
      endpoint("fd00:52::10", "db-0"),
      endpoint("fd00:52::11"),
      endpoint("fd00:52::"),
      endpoint("2001:db8:0:0:1::"),
    ),
  ),
  data("v4", pgSlice(endpoint("10.52.1.1", "p0"), { addresses: ["10.52.1.2", "10.52.1.3"], hostname: "p1" })),
  data("v6", pgSlice(endpoint("fd00:52:1::1", "p0"), endpoint("fd00:52:1::2"))),
  data("no-slices"),
  data("empty", pgSlice()),
  data("idle", pgSlice(endpoint("10.52.2.1", "i0", "!ready"))),
  data(
    "conditions",
    pgSlice(
      endpoint("10.52.2.2", "serving", "!ready serving terminating"),
      endpoint("10.52.2.3", "leaving", "ready serving terminating"),
    ),
  ),
  {
    ...data(
      "eager",
      pgSlice(endpoint("10.52.2.4", "e0", "!ready"), endpoint("10.52.2.5", "e1")),
      pgSlice(endpoint("fd00:52:2::4", undefined, "!ready")),
    ),
    publishNotReadyAddresses: true,
  },
  {
    ...data("all-eager", pgSlice(endpoint("10.52.2.6", "e0", "!ready"))),
    publishNotReadyAddresses: true,
  },
  data("no-ports", ownSlice([], endpoint("10.52.3.1", "q0"))),
  data(
    "half-named",
    ownSlice([pg, port("", 9999, "TCP")], endpoint("10.52.3.2", "q0")),
    ownSlice([port("", 9999, "TCP")], endpoint("fd00:52:3::2")),
  ),
  data("unnamed", ownSlice([port("", 9999, "TCP")], endpoint("10.52.3.3", "q0"))),
  data(
    "ports",
    ownSlice(
      [pg, port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("signal", 36412, "SCTP")],
      endpoint("10.52.3.4", "q0"),
    ),
  ),
  data(
    "odd-ports",
    ownSlice(
      [pg, port("zero", 0, "TCP"), port("big", 70000, "TCP"), { name: "every", protocol: "TCP" }],
      endpoint("10.52.3.5", "q0"),
    ),
  ),
  data(
    "split-ports",
    pgSlice(endpoint("10.52.3.6", "s0")),
    ownSlice([port("web", 80, "TCP")], endpoint("10.52.3.7", "s0"), endpoint("10.52.3.8", "s1")),
  ),
  data("shared-a", pgSlice(endpoint("10.52.4.1", "c0"))),
  data("shared-b", pgSlice(endpoint("10.52.4.1", "c0"))),
  data(
    "two-names",
    pgSlice(endpoint("10.52.4.2", "t0"), endpoint("10.52.4.2", "t1")),
    pgSlice(endpoint("10.52.4.2")),
  ),
  data("like-a-service", pgSlice(endpoint("10.96.1.2", "own"))),
  data("host-names", pgSlice(endpoint("host.example.com", "h0"), endpoint("other.example.com"))),
  headless("idle-only", "db", pgSlice(endpoint("10.52.6.1", "db-0", "!ready"))),
];

const elsewhere = (namespace: string, index: number) => [
  clusterIp(namespace, "web", [`10.96.2.${index}`], [http]),
  headless(namespace, "db", pgSlice(endpoint(`10.52.7.${index}`, "db-0"))),
];

const own = (name: string, target: string) => alias("aliases", name, target);
const inZone = (name: string, target: string) => own(name, `${target}.cluster.local`);
const links = Array.from({ length: 10 }, (_, index) => index);

/** Services of type ExternalName in the namespace `aliases`. */
const aliases: OwnService[] = [
  own("outside", "www.example.com"),
  own("one-label", "your-service"),
  own("v4-text", "192.0.2.9"),
  inZone("to-service", "web.shop.svc"),
  inZone("to-v4", "v4.shop.svc"),
  inZone("to-v6", "v6.shop.svc"),
  inZone("to-headless", "db.data.svc"),
  inZone("to-endpoint", "db-0.db.data.svc"),
  inZone("to-not-ready", "all-eager.data.svc"),
  inZone("to-idle", "idle.data.svc"),
  inZone("to-missing", "nothing.shop.svc"),
  inZone("to-missing-namespace", "web.missing.svc"),
  inZone("to-gone", "web.gone.svc"),
  inZone("to-namespace", "shop.svc"),
  own("to-zone", "cluster.local"),
  inZone("to-version", "dns-version"),
  inZone("to-pod", "10-50-0-1.shop.pod"),
  inZone("to-alias", "to-service.aliases.svc"),
  inZone("to-alias-outside", "outside.aliases.svc"),
  inZone("to-alias-missing", "to-missing.aliases.svc"),
  inZone("itself", "itself.aliases.svc"),
  inZone("ring-a", "ring-b.aliases.svc"),
  inZone("ring-b", "ring-c.aliases.svc"),
  inZone("ring-c", "ring-a.aliases.svc"),
  inZone("into-ring", "ring-a.aliases.svc"),
  ...links.map((index) =>
    inZone(`link-${index}`, index === 9 ? "web.shop.svc" : `link-${index + 1}.aliases.svc`),
  ),
  own("to-clusterset", "web.clusterset.svc.clusterset.local"),
  own("to-clusterset-missing", "nothing.clusterset.svc.clusterset.local"),
  {
    ...own("with-slices", "www.example.com"),
    slices: [ownSlice([{ name: "http", port: 80 }], endpoint("10.53.0.1", "a0"))],
  },
  {
    ...own("renamed", "your-service.your-cluster.example"),
    annotations: { "clusterset-doh.dev/name": "my-service.my-cluster" },
  },
];

/** The dotted name that `renamed` owns instead of its own, and the one above it, below the zone. */
export const ownedNames = ["my-service.my-cluster.aliases.svc", "my-cluster.aliases.svc"];

/** The random services of the clusterset as a cluster's own; several ports of a Service all have names. */
function randomOwnServices(count: number, seed: number): OwnService[] {
  return randomServices(count, seed).map(({ namespace, name, spec, slices }, index) => {
    const { type, ips = [], ports = [] } = spec as ImportSpec;
    if (type === "Headless") return headless(namespace, name, ...slices);
    const own = [`10.96.3.${index + 1}`, `fd00:10:96::3${(index + 1).toString(16).padStart(2, "0")}`];
    const families = new Set(ips.map((ip) => (ip.includes(":") ? 1 : 0)));
    const named = ports.filter((one) => one.name);
    const clusterIPs = [...families].map((family) => own[family]!);
    return clusterIp(namespace, name, clusterIPs, named.length > 0 ? named : ports.slice(0, 1), ...slices);
  });
}

/** All Services of the cluster: in `dying`, which is being deleted, and leftovers in `gone`, too. */
export const services: readonly OwnService[] = [
  ...clusterIpServices,
  ...headlessServices,
  ...aliases,
  ...elsewhere("dying", 1),
  ...elsewhere("gone", 2),
  ...randomOwnServices(80, 20_261_121),
];
