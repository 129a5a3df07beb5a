import { serviceLabel } from "../../servers/kubernetes/objects.ts";
import {
  endpoint,
  headless,
  type ImportedService,
  type ImportedSlice,
  type Port,
  slice,
} from "./services.ts";

const pg: Port = { name: "pg", port: 5432, protocol: "TCP" };
const data = (name: string, ...slices: ImportedSlice[]) => headless("data", name, ...slices);

/** Headless services in the namespace `data`: usual ones, and everything that the API server lets through. */
export const headlessServices: ImportedService[] = [
  data(
    "db",
    slice(
      "cluster-a",
      [pg],
      [
        { ...endpoint("10.1.0.10", "db-0"), conditions: { ready: true, serving: true, terminating: false } },
        { ...endpoint("10.1.0.11"), conditions: {} },
        { ...endpoint("10.1.0.12", "not-ready"), conditions: { ready: false } },
      ],
    ),
    slice("cluster-a", [pg], [endpoint("10.1.0.10", "db-0"), endpoint("10.1.0.16", "db-0")]),
    slice(
      "cluster-a",
      [pg],
      [
        endpoint("fd00:1::10", "db-0"),
        endpoint("fd00:1::11"),
        endpoint("fd00:1::"),
        endpoint("2001:db8:0:0:1::"),
        endpoint("::5:1"),
      ],
    ),
    slice("Cluster-B", [{ ...pg, port: 7432 }], [endpoint("10.2.0.10", "db-0")]),
    slice("c_under", [{ ...pg, port: 7435 }], [endpoint("10.5.0.10", "under")]),
  ),
  data(
    "dotted",
    slice("c.dot", [pg], [endpoint("10.4.0.10", "dotty")]),
    slice("cluster-a", [pg], [endpoint("10.4.0.11")]),
  ),
  data("mixed-case", slice("East-1", [pg], [endpoint("10.4.1.1", "m0")])),
  data(
    "one-case",
    slice("East-1", [pg], [endpoint("10.4.1.2", "m0")]),
    slice("east-1", [pg], [endpoint("10.4.1.2", "m0")]),
  ),
  data(
    "conditions",
    slice(
      "cluster-a",
      [pg],
      [
        {
          ...endpoint("10.4.2.1", "serving"),
          conditions: { ready: false, serving: true, terminating: true },
        },
        { ...endpoint("10.4.2.2", "ending"), conditions: { ready: true, serving: true, terminating: true } },
        { ...endpoint("10.4.2.3", "not-serving"), conditions: { ready: true, serving: false } },
        { ...endpoint("10.4.2.4", "unknown"), conditions: { serving: false } },
        { ...endpoint("10.4.2.5", "moving"), conditions: { ready: false } },
      ],
    ),
    slice("cluster-b", [pg], [{ ...endpoint("10.4.2.5", "moving"), conditions: { ready: true } }]),
    slice("cluster-a", [pg], [{ ...endpoint("10.4.2.5", "moving"), conditions: { ready: true } }]),
  ),
  data("idle", slice("cluster-a", [pg], [{ ...endpoint("10.6.0.1", "i0"), conditions: { ready: false } }])),
  data("none"),
  data("empty", slice("cluster-a", [pg], [])),
  data("no-slice-ports", slice("cluster-a", [], [endpoint("10.7.0.1", "p0")])),
  data("numberless", slice("cluster-a", [{ name: "pg" }], [endpoint("10.7.1.1", "p0")])),
  data(
    "odd-ports",
    slice(
      "cluster-a",
      [
        { name: "zero", port: 0 },
        { name: "big", port: 70000 },
        { name: "minus", port: -1 },
        { name: "good", port: 84 },
      ],
      [endpoint("10.7.1.2", "p0")],
    ),
  ),
  data(
    "protocols",
    slice(
      "cluster-a",
      [
        { name: "dns", port: 53, protocol: "UDP" },
        { name: "dns-tcp", port: 53, protocol: "TCP" },
        { name: "signal", port: 36412, protocol: "SCTP" },
      ],
      [endpoint("10.7.2.1", "p0")],
    ),
  ),
  data("unnamed", slice("cluster-a", [{ name: "", port: 80 }], [endpoint("10.7.3.1", "u0")])),
  data(
    "half-named",
    slice("cluster-a", [pg, { name: "", port: 9999 }], [endpoint("10.7.3.2", "u0"), endpoint("10.7.3.3")]),
    slice("cluster-b", [{ name: "", port: 9999 }], [endpoint("10.7.3.4", "u1")]),
  ),
  data("v4", slice("cluster-a", [pg], [endpoint("10.7.4.1", "p0")])),
  data("v6", slice("cluster-a", [pg], [endpoint("fd00:7::41", "p0"), endpoint("fd00:7::42")])),
  data(
    "several-addresses",
    slice(
      "cluster-a",
      [pg],
      [{ addresses: ["10.7.5.1", "10.7.5.2"], hostname: "m0" }, { addresses: ["10.7.5.3", "10.7.5.4"] }],
    ),
  ),
  data(
    "both-ways",
    slice("cluster-a", [pg], [endpoint("10.7.6.1", "named")]),
    slice("cluster-a", [pg], [endpoint("10.7.6.1")]),
  ),
  data("lookalike", slice("cluster-a", [pg], [endpoint("10.7.7.1", "10-7-7-2"), endpoint("10.7.7.2")])),
  data(
    "split-ports",
    slice("cluster-a", [pg], [endpoint("10.7.8.1", "s0")]),
    slice(
      "cluster-a",
      [{ name: "metrics", port: 9100 }],
      [endpoint("10.7.8.1", "s0"), endpoint("10.7.8.2", "s0")],
    ),
  ),
  data("host-names", slice("cluster-a", [pg], [endpoint("host.example.com", "f0")])),
  {
    namespace: "data",
    name: "orphan",
    spec: "none",
    slices: [slice("cluster-a", [pg], [endpoint("10.8.0.1", "o0")])],
  },
  data("unlabelled", slice(undefined, [pg], [endpoint("10.8.1.1", "n0")])),
  data(
    "half-labelled",
    slice("cluster-a", [pg], [endpoint("10.8.1.2", "n0")]),
    slice(undefined, [pg], [endpoint("10.8.1.3", "n1")]),
  ),
  data(
    "empty-label",
    slice("cluster-a", [pg], [endpoint("10.8.1.4", "n0")]),
    slice("", [pg], [endpoint("10.8.1.5", "n1")]),
  ),
  data(
    "derived",
    slice("cluster-a", [pg], [endpoint("10.8.2.1", "b0")], { [serviceLabel]: "derived-for-data" }),
  ),
  data("own"),
  data(
    "big",
    slice(
      "cluster-a",
      [pg],
      Array.from({ length: 90 }, (_, index) => endpoint(`10.9.0.${index + 1}`, `b${index}`)),
    ),
  ),
];
