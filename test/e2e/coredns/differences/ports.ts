import type { Pair } from "../comparison/comparison.ts";
import type { ObservedRecord } from "../comparison/observed.ts";
import type { Place } from "../place.ts";
import { asked, exactly, isType, nodata, onlyHere, positive, recordAt } from "./difference.ts";
import {
  isEndpointName,
  isHeadless,
  isOdd,
  isPortName,
  isPortNameToCoreDns,
  isPortToCoreDns,
  isUnnamed,
  portsMeant,
  portsOf,
} from "./service-facts.ts";
import { isServiceSrv, portDifferencesOf, withMore } from "./shared-ports.ts";
import { additionalsByPort, additionalsFor } from "./srv.ts";

const lacksProtocol = (pair: Pair) =>
  isPortName(pair) && portsMeant(pair).some((one) => !one.protocol && !isHeadless(pair.place.service));
const portNumber = ({ data }: ObservedRecord) => Number(data.split(" ")[1]);
const isDoubled = ({ place }: Pair) => {
  const names = portsOf(place.service).flatMap(({ name }) => name || []);
  return !isHeadless(place.service) && new Set(names).size < names.length;
};

/** Differences that have to do with ports and SRV records. */
export const portDifferences = portDifferencesOf<Place>(
  {
    isHeadless: ({ place }) => isHeadless(place.service),
    isEager: () => false,
    isPortName,
    isPortToCoreDns: (pair) => isPortNameToCoreDns(pair) && isPortToCoreDns(pair),
    isEndpointName,
    isServable: (port) => !isUnnamed(port) && !isOdd(port),
    portsOf: ({ place }) => portsOf(place.service),
    portsMeant,
    additionalsByPort,
    addressTypes: ["A", "AAAA", "CNAME"],
  },
  {
    specification: "MCS",
    addressesAtPortName: {
      example: asked(
        "_http._tcp.v4.shop.svc.clusterset.local A",
        "_http._tcp.v4.shop.svc.clusterset.local A 10.200.0.2",
        "NODATA",
      ),
    },
    laxPortNames: {
      id: "lax-underscores",
      title: "`_<port>.<protocol>`, `<port>._<protocol>`, `_._<protocol>`, `_<port>._`",
      example: asked(
        "_good._.odd-ports.shop.svc.clusterset.local SRV",
        "_good._.odd-ports.shop.svc.clusterset.local SRV 0 84 odd-ports.shop.svc.clusterset.local\n  with odd-ports.shop.svc.clusterset.local A 10.200.0.10",
        "NXDOMAIN",
      ),
    },
    unnamedPorts: {
      example: asked(
        "unnamed.shop.svc.clusterset.local SRV",
        "unnamed.shop.svc.clusterset.local SRV 0 80 unnamed.shop.svc.clusterset.local\n  with unnamed.shop.svc.clusterset.local A 10.200.0.7",
        "NODATA",
      ),
    },
    oddPorts: {
      corednsSays: "All but -1, by 16 bits; 0 as it is.",
      reason: "A port has 16 bits, and its name is a label (RFC 6335 sections 5.1 and 6).",
      example: asked(
        "only-odd.shop.svc.clusterset.local SRV",
        "only-odd.shop.svc.clusterset.local SRV 0 0 only-odd.shop.svc.clusterset.local\n  with only-odd.shop.svc.clusterset.local A 10.200.0.11",
        "NODATA",
      ),
    },
    oddPortNames: {
      example: asked(
        "_big._tcp.odd-ports.data.svc.clusterset.local SRV",
        "_big._tcp.odd-ports.data.svc.clusterset.local SRV 0 4464 p0.cluster-a.odd-ports.data.svc.clusterset.local\n  with p0.cluster-a.odd-ports.data.svc.clusterset.local A 10.7.1.2",
        "NXDOMAIN",
      ),
    },
    srvAtEndpoint: {
      title: "SRV at `<hostname>.<clusterid>.<service>` of a headless service",
      example: asked(
        "p0.cluster-a.v4.data.svc.clusterset.local SRV",
        "p0.cluster-a.v4.data.svc.clusterset.local SRV 0 5432 p0.cluster-a.v4.data.svc.clusterset.local\n  with p0.cluster-a.v4.data.svc.clusterset.local A 10.7.4.1",
        "NODATA",
      ),
    },
    wholeRrsets: {
      example: asked(
        "_pg._tcp.split-ports.data.svc.clusterset.local SRV",
        "_pg._tcp.split-ports.data.svc.clusterset.local SRV 0 5432 s0.cluster-a.split-ports.data.svc.clusterset.local\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.1",
        "_pg._tcp.split-ports.data.svc.clusterset.local SRV 0 5432 s0.cluster-a.split-ports.data.svc.clusterset.local\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.1\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.2",
      ),
    },
  },
  [
    {
      id: "no-protocol",
      title: "`_<port>._tcp.<service>` of a ServiceImport's port without a protocol",
      corednsSays: "NXDOMAIN.",
      weSay: "The SRV record.",
      reason: "The Kubernetes API's default is TCP.",
      example: asked(
        "_plain._tcp.no-protocol.shop.svc.clusterset.local SRV",
        "NXDOMAIN",
        "_plain._tcp.no-protocol.shop.svc.clusterset.local SRV 0 81 no-protocol.shop.svc.clusterset.local\n  with no-protocol.shop.svc.clusterset.local A 10.200.0.9",
      ),
      ...onlyHere(lacksProtocol),
      ours: (pair) => {
        const own = pair.place.labels.slice(pair.place.left.length).join(".");
        const answer = portsMeant(pair).map(({ port }) =>
          recordAt(pair, "SRV", `0 ${port} ${own}.clusterset.local`),
        );
        if (!isType(pair, "SRV")) return nodata("ours")(pair);
        return exactly("ours", () => positive(answer, additionalsFor(pair, answer)))(pair);
      },
    },
    {
      id: "doubled-port-names",
      title: "SRV where two ports of a ServiceImport have one name",
      corednsSays: "Both.",
      weSay: "The first; the other is a finding.",
      reason: '"No duplicated names" (KEP-1645, Service Port).',
      example: asked(
        "_http._tcp.doubled.shop.svc.clusterset.local SRV",
        "_http._tcp.doubled.shop.svc.clusterset.local SRV 0 80 doubled.shop.svc.clusterset.local\n_http._tcp.doubled.shop.svc.clusterset.local SRV 0 86 doubled.shop.svc.clusterset.local\n  with doubled.shop.svc.clusterset.local A 10.200.0.13",
        "_http._tcp.doubled.shop.svc.clusterset.local SRV 0 80 doubled.shop.svc.clusterset.local\n  with doubled.shop.svc.clusterset.local A 10.200.0.13",
      ),
      applies: (pair) =>
        isDoubled(pair) &&
        (isServiceSrv(pair) || (isPortName(pair) && isType(pair, "SRV"))) &&
        pair.coredns.answer.length > 1,
      coredns: withMore,
      ours: exactly("ours", (pair) => {
        const { service } = pair.place;
        const firstOfName = portsOf(service).filter(
          (one, index, all) => all.findIndex(({ name }) => name === one.name) === index,
        );
        const numbers = new Set(firstOfName.map(({ port }) => port));
        return positive(
          pair.coredns.answer.filter((record) => numbers.has(portNumber(record))),
          pair.coredns.additional,
        );
      }),
    },
  ],
);
