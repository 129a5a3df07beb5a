import { serviceLabel } from "../../servers/kubernetes/objects.ts";
import {
  endpoint,
  headless,
  type ImportedService,
  type ImportedSlice,
  port,
  type SliceEndpoint,
  slice,
} from "./services.ts";

const pg = port("pg", 5432, "TCP");
/** A slice of `cluster-a`. */
const ofA = (...endpoints: SliceEndpoint[]) => slice("cluster-a", [pg], endpoints);
const data = (name: string, ...slices: ImportedSlice[]) => headless("data", name, ...slices);

/** Headless services in the namespace `data`: usual ones, and everything that the API server lets through. */
export const headlessServices: ImportedService[] = [
  data(
    "db",
    ofA(
      endpoint("10.1.0.10", "db-0", "ready serving !terminating"),
      endpoint("10.1.0.11", undefined, ""),
      endpoint("10.1.0.12", "not-ready", "!ready"),
    ),
    ofA(endpoint("10.1.0.10", "db-0"), endpoint("10.1.0.16", "db-0")),
    ofA(
      endpoint("fd00:1::10", "db-0"),
      endpoint("fd00:1::11"),
      endpoint("fd00:1::"),
      endpoint("2001:db8:0:0:1::"),
      endpoint("::5:1"),
    ),
    slice("Cluster-B", [{ ...pg, port: 7432 }], [endpoint("10.2.0.10", "db-0")]),
    slice("c_under", [{ ...pg, port: 7435 }], [endpoint("10.5.0.10", "under")]),
  ),
  data("dotted", slice("c.dot", [pg], [endpoint("10.4.0.10", "dotty")]), ofA(endpoint("10.4.0.11"))),
  data("mixed-case", slice("East-1", [pg], [endpoint("10.4.1.1", "m0")])),
  data(
    "one-case",
    slice("East-1", [pg], [endpoint("10.4.1.2", "m0")]),
    slice("east-1", [pg], [endpoint("10.4.1.2", "m0")]),
  ),
  data(
    "conditions",
    ofA(
      endpoint("10.4.2.1", "serving", "!ready serving terminating"),
      endpoint("10.4.2.2", "ending", "ready serving terminating"),
      endpoint("10.4.2.3", "not-serving", "ready !serving"),
      endpoint("10.4.2.4", "unknown", "!serving"),
      endpoint("10.4.2.5", "moving", "!ready"),
    ),
    slice("cluster-b", [pg], [endpoint("10.4.2.5", "moving", "ready")]),
    ofA(endpoint("10.4.2.5", "moving", "ready")),
  ),
  data("idle", ofA(endpoint("10.6.0.1", "i0", "!ready"))),
  data("none"),
  data("empty", ofA()),
  data("no-slice-ports", slice("cluster-a", [], [endpoint("10.7.0.1", "p0")])),
  data("numberless", slice("cluster-a", [{ name: "pg" }], [endpoint("10.7.1.1", "p0")])),
  data(
    "odd-ports",
    slice(
      "cluster-a",
      [port("zero", 0), port("big", 70000), port("minus", -1), port("good", 84)],
      [endpoint("10.7.1.2", "p0")],
    ),
  ),
  data(
    "protocols",
    slice(
      "cluster-a",
      [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("signal", 36412, "SCTP")],
      [endpoint("10.7.2.1", "p0")],
    ),
  ),
  data("unnamed", slice("cluster-a", [port("", 80)], [endpoint("10.7.3.1", "u0")])),
  data(
    "half-named",
    slice("cluster-a", [pg, port("", 9999)], [endpoint("10.7.3.2", "u0"), endpoint("10.7.3.3")]),
    slice("cluster-b", [port("", 9999)], [endpoint("10.7.3.4", "u1")]),
  ),
  data("v4", ofA(endpoint("10.7.4.1", "p0"))),
  data("v6", ofA(endpoint("fd00:7::41", "p0"), endpoint("fd00:7::42"))),
  data(
    "several-addresses",
    ofA({ addresses: ["10.7.5.1", "10.7.5.2"], hostname: "m0" }, { addresses: ["10.7.5.3", "10.7.5.4"] }),
  ),
  data("both-ways", ofA(endpoint("10.7.6.1", "named")), ofA(endpoint("10.7.6.1"))),
  data("lookalike", ofA(endpoint("10.7.7.1", "10-7-7-2"), endpoint("10.7.7.2"))),
  data(
    "split-ports",
    ofA(endpoint("10.7.8.1", "s0")),
    slice("cluster-a", [port("metrics", 9100)], [endpoint("10.7.8.1", "s0"), endpoint("10.7.8.2", "s0")]),
  ),
  data("host-names", ofA(endpoint("host.example.com", "f0"))),
  {
    namespace: "data",
    name: "orphan",
    spec: "none",
    slices: [ofA(endpoint("10.8.0.1", "o0"))],
  },
  data("unlabelled", slice(undefined, [pg], [endpoint("10.8.1.1", "n0")])),
  data(
    "half-labelled",
    ofA(endpoint("10.8.1.2", "n0")),
    slice(undefined, [pg], [endpoint("10.8.1.3", "n1")]),
  ),
  data("empty-label", ofA(endpoint("10.8.1.4", "n0")), slice("", [pg], [endpoint("10.8.1.5", "n1")])),
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
