import { endpoint, port, type SliceEndpoint } from "../worlds/services.ts";
import { clusterIp, headless, type OwnService, type OwnSlice, ownSlice } from "./services.ts";

const pg = port("pg", 5432, "TCP");
const pgSlice = (...endpoints: SliceEndpoint[]) => ownSlice([pg], ...endpoints);
const data = (name: string, ...slices: OwnSlice[]) => headless("data", name, ...slices);

/** Headless Services in the namespace `data`: usual ones, and everything that the API server lets through. */
export const headlessServices: OwnService[] = [
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
  clusterIp(namespace, "web", [`10.96.2.${index}`], [port("http", 80, "TCP")]),
  headless(namespace, "db", pgSlice(endpoint(`10.52.7.${index}`, "db-0"))),
];

/** Services in a namespace that is being deleted, and leftovers of one that is gone. */
export const servicesInLeavingNamespaces: OwnService[] = [...elsewhere("dying", 1), ...elsewhere("gone", 2)];
