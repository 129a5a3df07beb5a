import { asSet } from "../../comparison/observed.ts";
import { asked } from "../../differences/difference.ts";
import { portDifferencesOf } from "../../differences/shared-ports.ts";
import type { LocalPlace } from "../place.ts";
import {
  endpointRecords,
  endpointsOf,
  isEndpointName,
  isHeadless,
  isPortName,
  isPortToCoreDns,
  isServable,
  type LocalPair,
  portsMeant,
  portsOf,
} from "./facts.ts";
import { isEager } from "./published.ts";

/** The addresses that CoreDNS adds: those of the endpoints with the ports that are asked for. */
const additionalsByPort = (pair: LocalPair) => {
  const meant = new Set(pair.place.left.length === 0 ? portsOf(pair.place.service) : portsMeant(pair));
  const withPort = endpointsOf(pair.place.service).filter(({ ports }) => ports.some((one) => meant.has(one)));
  return asSet(endpointRecords(pair, withPort));
};

/** Differences that have to do with ports and SRV records. */
export const portDifferences = portDifferencesOf<LocalPlace>(
  {
    isHeadless: ({ place }) => isHeadless(place.service),
    isEager: ({ place }) => isEager(place.service),
    isPortName,
    isPortToCoreDns,
    isEndpointName,
    isServable,
    portsOf: ({ place }) => portsOf(place.service),
    portsMeant,
    additionalsByPort,
    addressTypes: ["A", "AAAA"],
  },
  {
    specification: "DNS",
    addressesAtPortName: {
      example: asked(
        "_http._tcp.v4.shop.svc.cluster.local A",
        "_http._tcp.v4.shop.svc.cluster.local A 10.96.1.2",
        "NODATA",
      ),
    },
    laxPortNames: {
      id: "lax-port-names",
      title: "Two labels below a service that are not `_<port>._<protocol>`",
      example: asked(
        "http.tcp.web.shop.svc.cluster.local SRV",
        "http.tcp.web.shop.svc.cluster.local SRV 0 80 web.shop.svc.cluster.local\n  with web.shop.svc.cluster.local A 10.96.1.1\n  with web.shop.svc.cluster.local AAAA fd00:10:96::101",
        "NXDOMAIN",
      ),
    },
    unnamedPorts: {
      example: asked(
        "unnamed.shop.svc.cluster.local SRV",
        "unnamed.shop.svc.cluster.local SRV 0 80 unnamed.shop.svc.cluster.local\n  with unnamed.shop.svc.cluster.local A 10.96.1.4",
        "NODATA",
      ),
    },
    oddPorts: {
      corednsSays: "All ports, by their lower 16 bits; 0 as it is; names of 63 bytes.",
      reason: "A port has 16 bits (RFC 6335 section 6), a label 63 bytes (RFC 1035 section 2.3.4).",
      example: asked(
        "odd-ports.data.svc.cluster.local SRV",
        "odd-ports.data.svc.cluster.local SRV 0 0 q0.odd-ports.data.svc.cluster.local\nodd-ports.data.svc.cluster.local SRV 0 4464 q0.odd-ports.data.svc.cluster.local\nodd-ports.data.svc.cluster.local SRV 0 5432 q0.odd-ports.data.svc.cluster.local\n  with q0.odd-ports.data.svc.cluster.local A 10.52.3.5",
        "odd-ports.data.svc.cluster.local SRV 0 5432 q0.odd-ports.data.svc.cluster.local\n  with q0.odd-ports.data.svc.cluster.local A 10.52.3.5",
      ),
    },
    oddPortNames: {
      example: asked(
        "_big._tcp.odd-ports.data.svc.cluster.local SRV",
        "_big._tcp.odd-ports.data.svc.cluster.local SRV 0 4464 q0.odd-ports.data.svc.cluster.local\n  with q0.odd-ports.data.svc.cluster.local A 10.52.3.5",
        "NXDOMAIN",
      ),
    },
    srvAtEndpoint: {
      title: "SRV at `<hostname>.<service>` of a headless service",
      example: asked(
        "p0.v4.data.svc.cluster.local SRV",
        "p0.v4.data.svc.cluster.local SRV 0 5432 p0.v4.data.svc.cluster.local\n  with p0.v4.data.svc.cluster.local A 10.52.1.1",
        "NODATA",
      ),
    },
    wholeRrsets: {
      example: asked(
        "_pg._tcp.split-ports.data.svc.cluster.local SRV",
        "_pg._tcp.split-ports.data.svc.cluster.local SRV 0 5432 s0.split-ports.data.svc.cluster.local\n  with s0.split-ports.data.svc.cluster.local A 10.52.3.6",
        "_pg._tcp.split-ports.data.svc.cluster.local SRV 0 5432 s0.split-ports.data.svc.cluster.local\n  with s0.split-ports.data.svc.cluster.local A 10.52.3.6\n  with s0.split-ports.data.svc.cluster.local A 10.52.3.7",
      ),
    },
  },
);
