import { clusterSetIp, endpoint, type ImportedService, type Port, slice } from "./services.ts";

const http: Port = { name: "http", port: 80, protocol: "TCP" };
const shop = (name: string, spec: { ips?: string[]; ports?: Port[] }, ...slices: ImportedService["slices"]) =>
  clusterSetIp("shop", name, spec, ...slices);

/**
 * ClusterSetIP services in the namespace `shop`: usual ones, and everything that the schema of ServiceImport lets
 * through. `10.200.` and `fd00::c8:` are the importing cluster's own range.
 */
export const clusterSetIpServices: ImportedService[] = [
  shop(
    "web",
    { ips: ["10.200.0.1", "fd00::c8:1"], ports: [http, { name: "dns", port: 53, protocol: "UDP" }] },
    slice("cluster-a", [{ name: "http", port: 8080 }], [endpoint("10.1.0.1", "w0"), endpoint("10.1.0.2")]),
    slice("cluster-b", [{ name: "http", port: 8080 }], [endpoint("fd00:1::3", "w3")]),
  ),
  shop("v4", { ips: ["10.200.0.2"], ports: [http] }),
  shop("v6", { ips: ["fd00::c8:2"], ports: [http] }),
  shop("two", { ips: ["10.200.0.20", "10.200.0.21"], ports: [http] }),
  shop("spelled", { ips: ["FD00:0::C8:30", "fd00::c8:30"], ports: [http] }),
  shop("twice", { ips: ["10.200.0.4", "10.200.0.4"], ports: [http] }),
  shop("same-number", {
    ips: ["10.200.0.5"],
    ports: [
      { name: "dns", port: 53, protocol: "UDP" },
      { name: "dns-tcp", port: 53, protocol: "TCP" },
    ],
  }),
  shop("protocols", {
    ips: ["10.200.0.6"],
    ports: [
      { name: "signal", port: 36412, protocol: "SCTP" },
      { name: "LOUD", port: 83, protocol: "TCP" },
      { name: "lower", port: 82, protocol: "tcp" },
    ],
  }),
  shop("unnamed", { ips: ["10.200.0.7"], ports: [{ port: 80, protocol: "TCP" }] }),
  shop("half-named", { ips: ["10.200.0.8"], ports: [http, { name: "", port: 9999, protocol: "TCP" }] }),
  shop("no-protocol", { ips: ["10.200.0.9"], ports: [http, { name: "plain", port: 81 }] }),
  shop("odd-ports", {
    ips: ["10.200.0.10"],
    ports: [
      { name: "zero", port: 0, protocol: "TCP" },
      { name: "big", port: 70000, protocol: "TCP" },
      { name: "minus", port: -1, protocol: "TCP" },
      { name: "minus-two", port: -2, protocol: "TCP" },
      { name: "good", port: 84, protocol: "TCP" },
    ],
  }),
  shop("only-odd", { ips: ["10.200.0.11"], ports: [{ name: "zero", port: 0, protocol: "UDP" }] }),
  shop("spaced", { ips: ["10.200.0.12"], ports: [http, { name: "sp ace", port: 85, protocol: "TCP" }] }),
  shop("doubled", {
    ips: ["10.200.0.13"],
    ports: [http, { name: "b", port: 80, protocol: "UDP" }, { name: "http", port: 86, protocol: "TCP" }],
  }),
  shop("no-ports", { ips: ["10.200.0.14", "fd00::c8:14"], ports: [] }),
  { namespace: "shop", name: "no-spec", spec: undefined, slices: [] },
  shop("no-ips", { ports: [http] }),
  shop(
    "backed",
    { ports: [http] },
    slice(
      "cluster-a",
      [{ name: "http", port: 8080 }],
      [endpoint("10.1.1.1", "b0"), { ...endpoint("10.1.1.2", "b1"), conditions: { ready: false } }],
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
