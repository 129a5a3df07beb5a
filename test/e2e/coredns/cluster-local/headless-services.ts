import { endpoint, type Port } from "../worlds/services.ts";
import { clusterIp, headless, type OwnService, type OwnSlice, ownSlice } from "./services.ts";

const pg: Port = { name: "pg", port: 5432, protocol: "TCP" };
const data = (name: string, ...slices: OwnSlice[]) => headless("data", name, ...slices);

/** Headless Services in the namespace `data`: usual ones, and everything that the API server lets through. */
export const headlessServices: OwnService[] = [
  data(
    "db",
    ownSlice(
      [pg],
      { ...endpoint("10.52.0.1", "db-0"), conditions: { ready: true, serving: true, terminating: false } },
      { ...endpoint("10.52.0.2"), conditions: {} },
      { ...endpoint("10.52.0.3", "not-ready"), conditions: { ready: false } },
    ),
    ownSlice([pg], endpoint("10.52.0.1", "db-0"), endpoint("10.52.0.6", "db-0")),
    ownSlice(
      [pg],
      endpoint("fd00:52::10", "db-0"),
      endpoint("fd00:52::11"),
      endpoint("fd00:52::"),
      endpoint("2001:db8:0:0:1::"),
    ),
  ),
  data(
    "v4",
    ownSlice([pg], endpoint("10.52.1.1", "p0"), { addresses: ["10.52.1.2", "10.52.1.3"], hostname: "p1" }),
  ),
  data("v6", ownSlice([pg], endpoint("fd00:52:1::1", "p0"), endpoint("fd00:52:1::2"))),
  data("no-slices"),
  data("empty", ownSlice([pg])),
  data("idle", ownSlice([pg], { ...endpoint("10.52.2.1", "i0"), conditions: { ready: false } })),
  data(
    "conditions",
    ownSlice(
      [pg],
      { ...endpoint("10.52.2.2", "serving"), conditions: { ready: false, serving: true, terminating: true } },
      { ...endpoint("10.52.2.3", "leaving"), conditions: { ready: true, serving: true, terminating: true } },
    ),
  ),
  {
    ...data(
      "eager",
      ownSlice(
        [pg],
        { ...endpoint("10.52.2.4", "e0"), conditions: { ready: false } },
        endpoint("10.52.2.5", "e1"),
      ),
      ownSlice([pg], { ...endpoint("fd00:52:2::4"), conditions: { ready: false } }),
    ),
    publishNotReadyAddresses: true,
  },
  {
    ...data("all-eager", ownSlice([pg], { ...endpoint("10.52.2.6", "e0"), conditions: { ready: false } })),
    publishNotReadyAddresses: true,
  },
  data("no-ports", ownSlice([], endpoint("10.52.3.1", "q0"))),
  data(
    "half-named",
    ownSlice([pg, { name: "", port: 9999, protocol: "TCP" }], endpoint("10.52.3.2", "q0")),
    ownSlice([{ name: "", port: 9999, protocol: "TCP" }], endpoint("fd00:52:3::2")),
  ),
  data("unnamed", ownSlice([{ name: "", port: 9999, protocol: "TCP" }], endpoint("10.52.3.3", "q0"))),
  data(
    "ports",
    ownSlice(
      [
        pg,
        { name: "dns", port: 53, protocol: "UDP" },
        { name: "dns-tcp", port: 53, protocol: "TCP" },
        { name: "signal", port: 36412, protocol: "SCTP" },
      ],
      endpoint("10.52.3.4", "q0"),
    ),
  ),
  data(
    "odd-ports",
    ownSlice(
      [
        pg,
        { name: "zero", port: 0, protocol: "TCP" },
        { name: "big", port: 70000, protocol: "TCP" },
        { name: "every", protocol: "TCP" },
      ],
      endpoint("10.52.3.5", "q0"),
    ),
  ),
  data(
    "split-ports",
    ownSlice([pg], endpoint("10.52.3.6", "s0")),
    ownSlice(
      [{ name: "web", port: 80, protocol: "TCP" }],
      endpoint("10.52.3.7", "s0"),
      endpoint("10.52.3.8", "s1"),
    ),
  ),
  data("shared-a", ownSlice([pg], endpoint("10.52.4.1", "c0"))),
  data("shared-b", ownSlice([pg], endpoint("10.52.4.1", "c0"))),
  data(
    "two-names",
    ownSlice([pg], endpoint("10.52.4.2", "t0"), endpoint("10.52.4.2", "t1")),
    ownSlice([pg], endpoint("10.52.4.2")),
  ),
  data("like-a-service", ownSlice([pg], endpoint("10.96.1.2", "own"))),
  data("host-names", ownSlice([pg], endpoint("host.example.com", "h0"), endpoint("other.example.com"))),
  headless(
    "idle-only",
    "db",
    ownSlice([pg], { ...endpoint("10.52.6.1", "db-0"), conditions: { ready: false } }),
  ),
];

const elsewhere = (namespace: string, index: number) => [
  clusterIp(namespace, "web", [`10.96.2.${index}`], [{ name: "http", port: 80, protocol: "TCP" }]),
  headless(namespace, "db", ownSlice([pg], endpoint(`10.52.7.${index}`, "db-0"))),
];

/** Services in a namespace that is being deleted, and leftovers of one that is gone. */
export const servicesInLeavingNamespaces: OwnService[] = [...elsewhere("dying", 1), ...elsewhere("gone", 2)];
