import type { Pair } from "../comparison/comparison.ts";
import { type ObservedRecord, recordText, sameRecords } from "../comparison/observed.ts";
import {
  answersOf,
  type Difference,
  exactly,
  isType,
  nodata,
  onlyHere,
  onlyInCoreDns,
  positive,
  recordAt,
} from "./difference.ts";
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
import { additionalsByPort, additionalsFor, servableAtService } from "./srv.ts";

const isServiceSrv = (pair: Pair) => pair.place.kind === "service" && isType(pair, "SRV");
const lacksProtocol = (pair: Pair) =>
  isPortName(pair) && portsMeant(pair).some((one) => !one.protocol && !isHeadless(pair.place.service));

/** Expects every record with a port that has a name of its own, and the targets' addresses; NODATA if there is none. */
const servablePorts = (pair: Pair) => {
  const answer = servableAtService(pair);
  return answer.length === 0
    ? nodata("ours")(pair)
    : exactly("ours", () => positive(answer, additionalsFor(pair, answer)))(pair);
};

/** Whether CoreDNS answers with all that we have, and more. */
const withMore = (pair: Pair) => {
  const texts = new Set(pair.coredns.answer.map(recordText));
  return texts.size > pair.ours.answer.length && pair.ours.answer.every((one) => texts.has(recordText(one)));
};

const portNumber = ({ data }: ObservedRecord) => Number(data.split(" ")[1]);
const isDoubled = ({ place }: Pair) => {
  const names = portsOf(place.service).flatMap(({ name }) => name || []);
  return !isHeadless(place.service) && new Set(names).size < names.length;
};

/** Differences that have to do with ports and SRV records. */
export const portDifferences: Difference[] = [
  {
    id: "addresses-at-port-name",
    title: "A and AAAA at `_<port>._<protocol>.<service>`",
    corednsSays: "The addresses.",
    weSay: "NODATA.",
    reason: "These names have SRV only (MCS 2.3.2, 2.4.2, RFC 2782).",
    example: {
      question: { name: "_http._tcp.v4.shop.svc.clusterset.local", type: "A" },
      coredns: "_http._tcp.v4.shop.svc.clusterset.local A 10.200.0.2",
      ours: "NODATA",
    },
    applies: (pair) =>
      isPortName(pair) &&
      isType(pair, "A", "AAAA", "CNAME") &&
      pair.coredns.answer.length > 0 &&
      portsMeant(pair).some((one) => !isOdd(one)),
    coredns: (pair) => {
      const { question, place, all, coredns } = pair;
      const service = question.name.split(".").slice(place.left.length).join(".");
      const ofService = answersOf(all, "coredns", service, question.type, question.name).map(recordText);
      return coredns.answer.every((record) => ofService.includes(recordText(record)));
    },
    ours: nodata("ours"),
  },
  {
    id: "lax-underscores",
    title: "`_<port>.<protocol>`, `<port>._<protocol>`, `_._<protocol>`, `_<port>._`",
    corednsSays: "Those of `_<port>._<protocol>`; `_` is a wildcard.",
    weSay: "NXDOMAIN.",
    reason: "There are no wildcards (MCS 2.3.2, 2.4.2, RFC 2782).",
    example: {
      question: { name: "_good._.odd-ports.shop.svc.clusterset.local", type: "SRV" },
      coredns:
        "_good._.odd-ports.shop.svc.clusterset.local SRV 0 84 odd-ports.shop.svc.clusterset.local\n  with odd-ports.shop.svc.clusterset.local A 10.200.0.10",
      ours: "NXDOMAIN",
    },
    ...onlyInCoreDns((pair) => isPortNameToCoreDns(pair) && !isPortName(pair) && isPortToCoreDns(pair)),
  },
  {
    id: "unnamed-ports",
    title: "SRV at `<service>` with a port without a name",
    corednsSays: "All ports.",
    weSay: "The named ones.",
    reason: '"Unnamed ports do not have an SRV record" (MCS 2.3.2, 2.4.2).',
    example: {
      question: { name: "unnamed.shop.svc.clusterset.local", type: "SRV" },
      coredns:
        "unnamed.shop.svc.clusterset.local SRV 0 80 unnamed.shop.svc.clusterset.local\n  with unnamed.shop.svc.clusterset.local A 10.200.0.7",
      ours: "NODATA",
    },
    applies: (pair) =>
      isServiceSrv(pair) &&
      portsOf(pair.place.service).some(isUnnamed) &&
      !sameRecords(servableAtService(pair), pair.coredns.answer),
    coredns: withMore,
    ours: servablePorts,
  },
  {
    id: "odd-ports",
    title: "SRV at `<service>` with a port that cannot have a record",
    corednsSays: "All but -1, by 16 bits; 0 as it is.",
    weSay: "The possible ones, and findings.",
    reason: "A port has 16 bits, and its name is a label (RFC 6335 sections 5.1 and 6).",
    example: {
      question: { name: "only-odd.shop.svc.clusterset.local", type: "SRV" },
      coredns:
        "only-odd.shop.svc.clusterset.local SRV 0 0 only-odd.shop.svc.clusterset.local\n  with only-odd.shop.svc.clusterset.local A 10.200.0.11",
      ours: "NODATA",
    },
    applies: (pair) =>
      isServiceSrv(pair) &&
      portsOf(pair.place.service).some(isOdd) &&
      !sameRecords(servableAtService(pair), pair.coredns.answer),
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
      question: { name: "_big._tcp.odd-ports.data.svc.clusterset.local", type: "SRV" },
      coredns:
        "_big._tcp.odd-ports.data.svc.clusterset.local SRV 0 4464 p0.cluster-a.odd-ports.data.svc.clusterset.local\n  with p0.cluster-a.odd-ports.data.svc.clusterset.local A 10.7.1.2",
      ours: "NXDOMAIN",
    },
    ...onlyInCoreDns((pair) => isPortName(pair) && portsMeant(pair).some(isOdd)),
  },
  {
    id: "no-protocol",
    title: "`_<port>._tcp.<service>` of a ServiceImport's port without a protocol",
    corednsSays: "NXDOMAIN.",
    weSay: "The SRV record.",
    reason: "The Kubernetes API's default is TCP.",
    example: {
      question: { name: "_plain._tcp.no-protocol.shop.svc.clusterset.local", type: "SRV" },
      coredns: "NXDOMAIN",
      ours: "_plain._tcp.no-protocol.shop.svc.clusterset.local SRV 0 81 no-protocol.shop.svc.clusterset.local\n  with no-protocol.shop.svc.clusterset.local A 10.200.0.9",
    },
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
    example: {
      question: { name: "_http._tcp.doubled.shop.svc.clusterset.local", type: "SRV" },
      coredns:
        "_http._tcp.doubled.shop.svc.clusterset.local SRV 0 80 doubled.shop.svc.clusterset.local\n_http._tcp.doubled.shop.svc.clusterset.local SRV 0 86 doubled.shop.svc.clusterset.local\n  with doubled.shop.svc.clusterset.local A 10.200.0.13",
      ours: "_http._tcp.doubled.shop.svc.clusterset.local SRV 0 80 doubled.shop.svc.clusterset.local\n  with doubled.shop.svc.clusterset.local A 10.200.0.13",
    },
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
  {
    id: "srv-at-endpoint",
    title: "SRV at `<hostname>.<clusterid>.<service>` of a headless service",
    corednsSays: "Each port, the name itself as the target.",
    weSay: "NODATA.",
    reason: "MCS 2.4.1, 2.4.2.",
    example: {
      question: { name: "p0.cluster-a.v4.data.svc.clusterset.local", type: "SRV" },
      coredns:
        "p0.cluster-a.v4.data.svc.clusterset.local SRV 0 5432 p0.cluster-a.v4.data.svc.clusterset.local\n  with p0.cluster-a.v4.data.svc.clusterset.local A 10.7.4.1",
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
      question: { name: "_pg._tcp.split-ports.data.svc.clusterset.local", type: "SRV" },
      coredns:
        "_pg._tcp.split-ports.data.svc.clusterset.local SRV 0 5432 s0.cluster-a.split-ports.data.svc.clusterset.local\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.1",
      ours: "_pg._tcp.split-ports.data.svc.clusterset.local SRV 0 5432 s0.cluster-a.split-ports.data.svc.clusterset.local\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.1\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.2",
    },
    applies: (pair) =>
      isType(pair, "SRV") &&
      isHeadless(pair.place.service) &&
      (isPortName(pair) ||
        (isServiceSrv(pair) && sameRecords(servableAtService(pair), pair.coredns.answer))) &&
      additionalsFor(pair, pair.coredns.answer).length > additionalsByPort(pair).length,
    coredns: exactly("coredns", (pair) => positive(pair.coredns.answer, additionalsByPort(pair))),
    ours: exactly("ours", (pair) => positive(pair.coredns.answer, additionalsFor(pair, pair.coredns.answer))),
  },
];
