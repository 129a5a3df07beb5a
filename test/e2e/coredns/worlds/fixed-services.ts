import { serviceLabel } from "../../servers/kubernetes/objects.ts";
import {
  clusterSetIp,
  endpoint,
  headless,
  type ImportedService,
  type ImportedSlice,
  type Port,
  port,
  type SliceEndpoint,
  slice,
} from "./services.ts";

const http = port("http", 80, "TCP");
const shop = (name: string, spec: { ips?: string[]; ports?: Port[] }, ...slices: ImportedService["slices"]) =>
  clusterSetIp("shop", name, spec, ...slices);

/** What the schema of ServiceImport lets through; `10.200.` and `fd00::c8:` are the cluster's own range. */
export const clusterSetIpServices: ImportedService[] = [
  shop(
    "web",
    { ips: ["10.200.0.1", "fd00::c8:1"], ports: [http, port("dns", 53, "UDP")] },
    slice("cluster-a", [port("http", 8080)], [endpoint("10.1.0.1", "w0"), endpoint("10.1.0.2")]),
    slice("cluster-b", [port("http", 8080)], [endpoint("fd00:1::3", "w3")]),
  ),
  shop("v4", { ips: ["10.200.0.2"], ports: [http] }),
  shop("v6", { ips: ["fd00::c8:2"], ports: [http] }),
  shop("two", { ips: ["10.200.0.20", "10.200.0.21"], ports: [http] }),
  shop("spelled", { ips: ["FD00:0::C8:30", "fd00::c8:30"], ports: [http] }),
  shop("twice", { ips: ["10.200.0.4", "10.200.0.4"], ports: [http] }),
  shop("same-number", {
    ips: ["10.200.0.5"],
    ports: [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP")],
  }),
  shop("protocols", {
    ips: ["10.200.0.6"],
    ports: [port("signal", 36412, "SCTP"), port("LOUD", 83, "TCP"), port("lower", 82, "tcp")],
  }),
  shop("unnamed", { ips: ["10.200.0.7"], ports: [{ port: 80, protocol: "TCP" }] }),
  shop("half-named", { ips: ["10.200.0.8"], ports: [http, port("", 9999, "TCP")] }),
  shop("no-protocol", { ips: ["10.200.0.9"], ports: [http, port("plain", 81)] }),
  shop("odd-ports", {
    ips: ["10.200.0.10"],
    ports: [
      port("zero", 0, "TCP"),
      port("big", 70000, "TCP"),
      port("minus", -1, "TCP"),
      port("minus-two", -2, "TCP"),
      port("good", 84, "TCP"),
    ],
  }),
  shop("only-odd", { ips: ["10.200.0.11"], ports: [port("zero", 0, "UDP")] }),
  shop("spaced", { ips: ["10.200.0.12"], ports: [http, port("sp ace", 85, "TCP")] }),
  shop("doubled", {
    ips: ["10.200.0.13"],
    ports: [http, port("b", 80, "UDP"), port("http", 86, "TCP")],
  }),
  shop("no-ports", { ips: ["10.200.0.14", "fd00::c8:14"], ports: [] }),
  { namespace: "shop", name: "no-spec", spec: undefined, slices: [] },
  shop("no-ips", { ports: [http] }),
  shop(
    "backed",
    { ports: [http] },
    slice(
      "cluster-a",
      [port("http", 8080)],
      [endpoint("10.1.1.1", "b0"), endpoint("10.1.1.2", "b1", "!ready")],
    ),
  ),
  shop("half-bad", { ips: ["not-an-ip", "10.200.0.16"], ports: [http] }),
  shop("host-name", { ips: ["target.example.com"], ports: [http] }),
  shop("in-zone", { ips: ["web.shop.svc.clusterset.local"], ports: [http] }),
  shop("octal", { ips: ["010.0.0.1", "10.200.0.17"], ports: [http] }),
  shop("mapped", { ips: ["::ffff:10.200.0.18", "10.200.0.19"], ports: [http] }),
  shop("empty-ip", { ips: ["", "fd00::c8:22"], ports: [http] }),
  shop("unspecified", { ips: ["0.0.0.0", "10.200.0.23"], ports: [http] }),
  shop("with.dots", { ips: ["10.200.0.24"], ports: [http] }),
  shop("x".repeat(70), { ips: ["10.200.0.25"], ports: [http] }),
  // Cilium and others make a Service for each ServiceImport; the fixture does so for this one.
  shop("derived", { ips: ["10.96.77.77"], ports: [http] }),
];

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
];
