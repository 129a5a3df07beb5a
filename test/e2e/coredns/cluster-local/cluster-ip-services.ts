import { endpoint, type Port } from "../worlds/services.ts";
import { clusterIp, type OwnService, type OwnSlice, ownSlice } from "./services.ts";

const http: Port = { name: "http", port: 80, protocol: "TCP" };
const shop = (name: string, ips: string[], ports: Port[], ...slices: OwnSlice[]) =>
  clusterIp("shop", name, ips, ports, ...slices);

/** Services with cluster IPs, of every shape that the API server lets through. */
export const clusterIpServices: OwnService[] = [
  {
    ...clusterIp("default", "kubernetes", ["10.96.0.1"], [{ name: "https", port: 443, protocol: "TCP" }]),
    isBuiltIn: true,
  },
  shop(
    "web",
    ["10.96.1.1", "fd00:10:96::101"],
    [http, { name: "dns", port: 53, protocol: "UDP" }],
    ownSlice([{ name: "http", port: 8080 }], endpoint("10.51.0.1", "w0"), endpoint("10.51.0.2")),
    ownSlice([{ name: "http", port: 8080 }], endpoint("fd00:51::3")),
  ),
  shop("v4", ["10.96.1.2"], [http]),
  shop("v6", ["fd00:10:96::102"], [http]),
  shop("v6-first", ["fd00:10:96::103", "10.96.1.3"], [http]),
  shop("unnamed", ["10.96.1.4"], [{ port: 80, protocol: "TCP" }]),
  shop(
    "same-number",
    ["10.96.1.5"],
    [
      { name: "dns", port: 53, protocol: "UDP" },
      { name: "dns-tcp", port: 53, protocol: "TCP" },
    ],
  ),
  shop(
    "protocols",
    ["10.96.1.6"],
    [
      { name: "signal", port: 36412, protocol: "SCTP" },
      { name: "web", port: 83, protocol: "TCP" },
      { name: "quic", port: 83, protocol: "UDP" },
    ],
  ),
  // With an underscore before it this name is longer than a label may be.
  shop("long-port", ["10.96.1.7"], [http, { name: "p".repeat(63), port: 81, protocol: "TCP" }]),
  shop(
    "manual",
    ["10.96.1.8"],
    [http],
    ownSlice([{ name: "http", port: 9376 }], endpoint("203.0.113.7", "outside")),
  ),
  { ...shop("node-port", ["10.96.1.9"], [http]), type: "NodePort" },
  { ...shop("balanced", ["10.96.1.10", "fd00:10:96::10a"], [http]), type: "LoadBalancer" },
  shop(
    "not-ready",
    ["10.96.1.11"],
    [http],
    ownSlice([{ name: "http", port: 8080 }], {
      ...endpoint("10.51.1.1", "n0"),
      conditions: { ready: false },
    }),
  ),
  shop("x".repeat(63), ["10.96.1.12"], [http]),
  clusterIp("svc", "pod", ["10.96.1.13"], [http]),
  clusterIp("pod", "svc", ["10.96.1.14"], [http]),
];
