import { endpoint, type Port, port } from "../worlds/services.ts";
import { clusterIp, type OwnService, type OwnSlice, ownSlice } from "./services.ts";

const http = port("http", 80, "TCP");
const shop = (name: string, ips: string[], ports: Port[], ...slices: OwnSlice[]) =>
  clusterIp("shop", name, ips, ports, ...slices);

/** Services with cluster IPs, of every shape that the API server lets through. */
export const clusterIpServices: OwnService[] = [
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
  { ...shop("node-port", ["10.96.1.9"], [http]), type: "NodePort" },
  { ...shop("balanced", ["10.96.1.10", "fd00:10:96::10a"], [http]), type: "LoadBalancer" },
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
