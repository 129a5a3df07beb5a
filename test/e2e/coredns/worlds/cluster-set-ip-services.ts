import { clusterSetIp, endpoint, type ImportedService, type Port, port, slice } from "./services.ts";

const http = port("http", 80, "TCP");
const shop = (name: string, spec: { ips?: string[]; ports?: Port[] }, ...slices: ImportedService["slices"]) =>
  clusterSetIp("shop", name, spec, ...slices);

/**
 * ClusterSetIP services in the namespace `shop`: usual ones, and everything that the schema of ServiceImport
 * lets through. `10.200.` and `fd00::c8:` are the importing cluster's own range.
 */
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
