import { asSet, type ObservedRecord, recordText, sameRecords } from "../../comparison/observed.ts";
import {
  answersOf,
  type Difference,
  exactly,
  isType,
  nodata,
  onlyInCoreDns,
  positive,
} from "../../differences/difference.ts";
import { isUnnamed } from "../../differences/service-facts.ts";
import { additionalsFor } from "../../differences/srv.ts";
import type { LocalPlace } from "../place.ts";
import {
  endpointRecords,
  endpointsOf,
  isEndpointName,
  isHeadless,
  isNamedInVain,
  isPortName,
  isPortToCoreDns,
  isServable,
  type LocalPair,
  portLabels,
  portsMeant,
  portsOf,
} from "./facts.ts";
import { isEager } from "./published.ts";

const isServiceSrv = (pair: LocalPair) => pair.place.kind === "service" && isType(pair, "SRV");

/** The SRV records that a Service's bare name should have: those that CoreDNS has at the names of the ports. */
const servableAtService = ({ place, question, all }: LocalPair): ObservedRecord[] =>
  asSet(
    portsOf(place.service)
      .filter(isServable)
      .flatMap((port) => {
        const portName = `${portLabels(port)}.${question.name.toLowerCase()}`;
        return answersOf(all, "coredns", portName, "SRV", question.name);
      }),
  );

const lacksPortsHere = (pair: LocalPair) =>
  isServiceSrv(pair) &&
  pair.coredns.answer.length > 0 &&
  !sameRecords(servableAtService(pair), pair.coredns.answer);

/** Expects every record with a port that has a name of its own, and the targets' addresses; NODATA if there is none. */
const servablePorts = (pair: LocalPair) => {
  const answer = servableAtService(pair);
  return answer.length === 0
    ? nodata("ours")(pair)
    : exactly<LocalPlace>("ours", () => positive(answer, additionalsFor(pair, answer)))(pair);
};

/** Whether CoreDNS answers with all that we have, and more. */
const withMore = ({ coredns, ours }: LocalPair) => {
  const texts = new Set(coredns.answer.map(recordText));
  return texts.size > ours.answer.length && ours.answer.every((one) => texts.has(recordText(one)));
};

/** The addresses that CoreDNS adds: those of the endpoints with the ports that are asked for. */
const additionalsByPort = (pair: LocalPair) => {
  const meant = new Set(pair.place.left.length === 0 ? portsOf(pair.place.service) : portsMeant(pair));
  const withPort = endpointsOf(pair.place.service).filter(({ ports }) => ports.some((one) => meant.has(one)));
  return asSet(endpointRecords(pair, withPort));
};

/** Differences that have to do with ports and SRV records. */
export const portDifferences: Difference<LocalPlace>[] = [
  {
    id: "addresses-at-port-name",
    title: "A and AAAA at `_<port>._<protocol>.<service>`",
    corednsSays: "The addresses.",
    weSay: "NODATA.",
    reason: "These names have SRV only (DNS 2.3.2, 2.4.2, RFC 2782).",
    example: {
      question: { name: "_http._tcp.v4.shop.svc.cluster.local", type: "A" },
      coredns: "_http._tcp.v4.shop.svc.cluster.local A 10.96.1.2",
      ours: "NODATA",
    },
    applies: (pair) =>
      isPortName(pair) &&
      isType(pair, "A", "AAAA") &&
      pair.coredns.answer.length > 0 &&
      portsMeant(pair).some(isServable),
    coredns: (pair) => {
      const { question, place, all, coredns } = pair;
      const service = question.name.split(".").slice(place.left.length).join(".");
      const ofService = answersOf(all, "coredns", service, question.type, question.name).map(recordText);
      return coredns.answer.every((record) => ofService.includes(recordText(record)));
    },
    ours: nodata("ours"),
  },
  {
    id: "lax-port-names",
    title: "Two labels below a service that are not `_<port>._<protocol>`",
    corednsSays: "Those of `_<port>._<protocol>`; `_` is a wildcard.",
    weSay: "NXDOMAIN.",
    reason: "There are no wildcards (DNS 2.3.2, 2.4.2, RFC 2782).",
    example: {
      question: { name: "http.tcp.web.shop.svc.cluster.local", type: "SRV" },
      coredns:
        "http.tcp.web.shop.svc.cluster.local SRV 0 80 web.shop.svc.cluster.local\n  with web.shop.svc.cluster.local A 10.96.1.1\n  with web.shop.svc.cluster.local AAAA fd00:10:96::101",
      ours: "NXDOMAIN",
    },
    ...onlyInCoreDns((pair: LocalPair) => !isPortName(pair) && isPortToCoreDns(pair)),
  },
  {
    id: "unnamed-ports",
    title: "SRV at `<service>` with a port without a name",
    corednsSays: "All ports.",
    weSay: "The named ones.",
    reason: '"Unnamed ports do not have an SRV record" (DNS 2.3.2, 2.4.2).',
    example: {
      question: { name: "unnamed.shop.svc.cluster.local", type: "SRV" },
      coredns:
        "unnamed.shop.svc.cluster.local SRV 0 80 unnamed.shop.svc.cluster.local\n  with unnamed.shop.svc.cluster.local A 10.96.1.4",
      ours: "NODATA",
    },
    applies: (pair) => lacksPortsHere(pair) && portsOf(pair.place.service).some(isUnnamed),
    coredns: withMore,
    ours: servablePorts,
  },
  {
    id: "odd-ports",
    title: "SRV at `<service>` with a port that cannot have a record",
    corednsSays: "All ports, by their lower 16 bits; 0 as it is; names of 63 bytes.",
    weSay: "The possible ones, and findings.",
    reason: "A port has 16 bits (RFC 6335 section 6), a label 63 bytes (RFC 1035 section 2.3.4).",
    example: {
      question: { name: "odd-ports.data.svc.cluster.local", type: "SRV" },
      coredns:
        "odd-ports.data.svc.cluster.local SRV 0 0 q0.odd-ports.data.svc.cluster.local\nodd-ports.data.svc.cluster.local SRV 0 4464 q0.odd-ports.data.svc.cluster.local\nodd-ports.data.svc.cluster.local SRV 0 5432 q0.odd-ports.data.svc.cluster.local\n  with q0.odd-ports.data.svc.cluster.local A 10.52.3.5",
      ours: "odd-ports.data.svc.cluster.local SRV 0 5432 q0.odd-ports.data.svc.cluster.local\n  with q0.odd-ports.data.svc.cluster.local A 10.52.3.5",
    },
    applies: (pair) => lacksPortsHere(pair) && portsOf(pair.place.service).some(isNamedInVain),
    coredns: withMore,
    ours: servablePorts,
  },
  {
    id: "odd-port-names",
    title: "`_<port>._<protocol>.<service>` of a port that cannot have a record",
    corednsSays: "The name exists.",
    weSay: "NXDOMAIN.",
    reason: "As above.",
    example: {
      question: { name: "_big._tcp.odd-ports.data.svc.cluster.local", type: "SRV" },
      coredns:
        "_big._tcp.odd-ports.data.svc.cluster.local SRV 0 4464 q0.odd-ports.data.svc.cluster.local\n  with q0.odd-ports.data.svc.cluster.local A 10.52.3.5",
      ours: "NXDOMAIN",
    },
    ...onlyInCoreDns((pair: LocalPair) => isPortName(pair) && portsMeant(pair).some(isNamedInVain)),
  },
  {
    id: "srv-at-endpoint",
    title: "SRV at `<hostname>.<service>` of a headless service",
    corednsSays: "Each port, the name itself as the target.",
    weSay: "NODATA.",
    reason: "DNS 2.4.1, 2.4.2.",
    example: {
      question: { name: "p0.v4.data.svc.cluster.local", type: "SRV" },
      coredns:
        "p0.v4.data.svc.cluster.local SRV 0 5432 p0.v4.data.svc.cluster.local\n  with p0.v4.data.svc.cluster.local A 10.52.1.1",
      ours: "NODATA",
    },
    applies: (pair) =>
      isHeadless(pair.place.service) &&
      isEndpointName(pair) &&
      isType(pair, "SRV") &&
      pair.coredns.answer.length > 0,
    coredns: ({ coredns, question }) =>
      coredns.answer.every(({ data }) => data.split(" ")[2] === question.name.toLowerCase()),
    ours: nodata("ours"),
  },
  {
    id: "whole-rrsets",
    title: "Additional addresses where endpoints of a hostname differ in ports",
    corednsSays: "Those with the port.",
    weSay: "All addresses of the target.",
    reason: "An RRset is complete or absent (RFC 2181 section 5).",
    example: {
      question: { name: "_pg._tcp.split-ports.data.svc.cluster.local", type: "SRV" },
      coredns:
        "_pg._tcp.split-ports.data.svc.cluster.local SRV 0 5432 s0.split-ports.data.svc.cluster.local\n  with s0.split-ports.data.svc.cluster.local A 10.52.3.6",
      ours: "_pg._tcp.split-ports.data.svc.cluster.local SRV 0 5432 s0.split-ports.data.svc.cluster.local\n  with s0.split-ports.data.svc.cluster.local A 10.52.3.6\n  with s0.split-ports.data.svc.cluster.local A 10.52.3.7",
    },
    applies: (pair) =>
      isType(pair, "SRV") &&
      isHeadless(pair.place.service) &&
      !isEager(pair.place.service) &&
      (isPortName(pair) ||
        (isServiceSrv(pair) && sameRecords(servableAtService(pair), pair.coredns.answer))) &&
      additionalsFor(pair, pair.coredns.answer).length > additionalsByPort(pair).length,
    coredns: exactly<LocalPlace>("coredns", (pair) => positive(pair.coredns.answer, additionalsByPort(pair))),
    ours: exactly<LocalPlace>("ours", (pair) =>
      positive(pair.coredns.answer, additionalsFor(pair, pair.coredns.answer)),
    ),
  },
];
