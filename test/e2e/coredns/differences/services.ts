import { usableAddress } from "../../../../src/dns/address.ts";
import type { Pair } from "../comparison/comparison.ts";
import { localZone } from "../questions.ts";
import type { Port } from "../worlds/services.ts";
import {
  asked,
  both,
  type Difference,
  either,
  isType,
  more,
  moreAdditional,
  nodata,
  onlyHere,
  onlyInCoreDns,
  part,
  records,
  silent,
  zoneOf,
} from "./difference.ts";

const isUnnamed = ({ name }: Port) => !name;
/** Whether a port has a name and cannot have an SRV record: its number or its name is out of the question. */
const isOdd = ({ name, port }: Port) =>
  !!name && (port === undefined || port < 1 || port > 65535 || !/^[a-z0-9-]{1,62}$/i.test(name));

const isService = ({ place }: Pair) => place.kind === "service";
const isHeadless = ({ place }: Pair) => place.service?.isHeadless === true;
const isClusterIp = ({ place }: Pair) => place.service?.isHeadless === false;
const portsOf = ({ place }: Pair) => place.service?.ports ?? [];
const slicesOf = ({ place }: Pair) => (place.service?.isHeadless ? place.service.slices : []);

/** Whether a name is `_<port>._<protocol>` below a service, with something behind both underscores. */
const isPortName = ({ place }: Pair) =>
  place.left.length === 2 && place.left.every((label) => /^_./.test(label));
/** Whether CoreDNS may take a name for that of a port, and we do not. */
export const isLax = (pair: Pair) => {
  const { left } = pair.place;
  const isOfCluster =
    zoneOf(pair).toLowerCase() !== localZone && left.every((label) => !label.startsWith("_"));
  return left.length === 2 && !isPortName(pair) && !isOfCluster;
};
/** The ports that a name `_<port>._<protocol>` means; no protocol means TCP. */
const portsMeant = (pair: Pair) =>
  portsOf(pair).filter(
    ({ name, protocol }) => `_${name}._${protocol || "tcp"}`.toLowerCase() === pair.place.left.join("."),
  );
const isServiceSrv = (pair: Pair) => isService(pair) && isType(pair, "SRV");
const isDoubled = (pair: Pair) => {
  const names = portsOf(pair).flatMap(({ name }) => name || []);
  return isClusterIp(pair) && new Set(names).size < names.length;
};

export const portDifferences: Difference[] = [
  {
    title: "A and AAAA at `_<port>._<protocol>.<service>`",
    corednsSays: "The addresses.",
    weSay: "NODATA.",
    reason: "These names have SRV only (MCS 2.3.2, 2.4.2, RFC 2782).",
    example: asked("_http._tcp.v4.shop.svc.clusterset.local A", "A 10.200.0.2", "NODATA"),
    where: (pair) => isPortName(pair) && isType(pair, "A", "AAAA", "CNAME"),
    coredns: records,
    ours: nodata,
    isShared: true,
  },
  {
    title: "`_<port>.<protocol>`, `<port>._<protocol>`, `_._<protocol>`, `_<port>._`",
    corednsSays: "Those of `_<port>._<protocol>`; `_` is a wildcard.",
    weSay: "NXDOMAIN.",
    reason: "There are no wildcards (MCS 2.3.2, 2.4.2, RFC 2782).",
    example: asked(
      "_good._.odd-ports.shop.svc.clusterset.local SRV",
      "SRV 0 84 odd-ports.shop.svc.clusterset.local\n  with odd-ports.shop.svc.clusterset.local A 10.200.0.10",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns(isLax),
  },
  {
    title: "SRV at `<service>` with a port without a name",
    corednsSays: "All ports.",
    weSay: "The named ones.",
    reason: '"Unnamed ports do not have an SRV record" (MCS 2.3.2, 2.4.2).',
    example: asked(
      "unnamed.shop.svc.clusterset.local SRV",
      "SRV 0 80 unnamed.shop.svc.clusterset.local\n  with A 10.200.0.7",
      "NODATA",
    ),
    where: (pair) => isServiceSrv(pair) && portsOf(pair).some(isUnnamed),
    coredns: more,
    ours: either(nodata, records),
    isShared: true,
  },
  {
    title: "SRV at `<service>` with a port that cannot have a record",
    corednsSays: "All but -1, by 16 bits; 0 as it is.",
    weSay: "The possible ones, and findings.",
    reason: "A port has 16 bits, and its name is a label (RFC 6335 sections 5.1 and 6).",
    example: asked(
      "only-odd.shop.svc.clusterset.local SRV",
      "SRV 0 0 only-odd.shop.svc.clusterset.local\n  with A 10.200.0.11",
      "NODATA",
    ),
    where: (pair) => isServiceSrv(pair) && portsOf(pair).some(isOdd),
    coredns: more,
    ours: either(nodata, records),
    isShared: true,
  },
  {
    title: "`_<port>._<protocol>.<service>` of a port that cannot have a record",
    corednsSays: "The name exists.",
    weSay: "NXDOMAIN.",
    reason: "As above.",
    example: asked(
      "_big._tcp.odd-ports.data.svc.clusterset.local SRV",
      "SRV 0 4464 p0.cluster-a.odd-ports.data.svc.clusterset.local\n  with p0.cluster-a.odd-ports.data.svc.clusterset.local A 10.7.1.2",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair) => isPortName(pair) && portsMeant(pair).some(isOdd)),
    isShared: true,
  },
  {
    title: "`_<port>._tcp.<service>` of a ServiceImport's port without a protocol",
    corednsSays: "NXDOMAIN.",
    weSay: "The SRV record.",
    reason: "The Kubernetes API's default is TCP.",
    example: asked(
      "_plain._tcp.no-protocol.shop.svc.clusterset.local SRV",
      "NXDOMAIN",
      "SRV 0 81 no-protocol.shop.svc.clusterset.local\n  with no-protocol.shop.svc.clusterset.local A 10.200.0.9",
    ),
    ...onlyHere((pair) => isPortName(pair) && portsMeant(pair).some(({ protocol }) => !protocol)),
    ours: (pair, side) => (isType(pair, "SRV") ? records : nodata)(pair, side),
  },
  {
    title: "SRV where two ports of a ServiceImport have one name",
    corednsSays: "Both.",
    weSay: "The first; the other is a finding.",
    reason: '"No duplicated names" (KEP-1645, Service Port).',
    example: asked(
      "_http._tcp.doubled.shop.svc.clusterset.local SRV",
      "SRV 0 80 doubled.shop.svc.clusterset.local\nSRV 0 86 doubled.shop.svc.clusterset.local\n  with doubled.shop.svc.clusterset.local A 10.200.0.13",
      "SRV 0 80 doubled.shop.svc.clusterset.local\n  with doubled.shop.svc.clusterset.local A 10.200.0.13",
    ),
    where: (pair) => isDoubled(pair) && (isService(pair) || isPortName(pair)) && isType(pair, "SRV"),
    coredns: more,
    ours: records,
  },
  {
    title: "SRV at `<hostname>.<clusterid>.<service>` of a headless service",
    corednsSays: "Each port, the name itself as the target.",
    weSay: "NODATA.",
    reason: "MCS 2.4.1, 2.4.2.",
    example: asked(
      "p0.cluster-a.v4.data.svc.clusterset.local SRV",
      "SRV 0 5432 p0.cluster-a.v4.data.svc.clusterset.local\n  with A 10.7.4.1",
      "NODATA",
    ),
    where: (pair) => isHeadless(pair) && !isService(pair) && isType(pair, "SRV"),
    coredns: both(records, ({ coredns, question }) =>
      coredns.answer.every(({ data }) => data.split(" ")[2] === question.name.toLowerCase()),
    ),
    ours: nodata,
    isShared: true,
  },
  {
    title: "Additional addresses where endpoints of a hostname differ in ports",
    corednsSays: "Those with the port.",
    weSay: "All addresses of the target.",
    reason: "An RRset is complete or absent (RFC 2181 section 5).",
    example: asked(
      "_pg._tcp.split-ports.data.svc.clusterset.local SRV",
      "SRV 0 5432 s0.cluster-a.split-ports.data.svc.clusterset.local\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.1",
      "SRV 0 5432 s0.cluster-a.split-ports.data.svc.clusterset.local\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.1\n  with s0.cluster-a.split-ports.data.svc.clusterset.local A 10.7.8.2",
    ),
    where: (pair) => isType(pair, "SRV") && isHeadless(pair) && !pair.place.service?.isEager,
    coredns: records,
    ours: both(records, moreAdditional),
    isShared: true,
  },
];

export const addressDifferences: Difference[] = [
  {
    title: "A ClusterSetIP service without ports or spec",
    corednsSays: "NXDOMAIN.",
    weSay: "A and AAAA for `spec.ips`.",
    reason: "There is no condition about ports (MCS 2.3.1).",
    example: asked("no-ports.shop.svc.clusterset.local A", "NXDOMAIN", "A 10.200.0.14"),
    ...onlyHere((pair) => isService(pair) && isClusterIp(pair) && portsOf(pair).length === 0),
    ours: either(nodata, records),
  },
  {
    title: "A ClusterSetIP service without `spec.ips` whose endpoints are known",
    corednsSays: "NODATA for A, AAAA and SRV.",
    weSay: "Load balancers, else ready endpoints, and SRV records.",
    reason: "KEP-1645 leaves that open ([order](../reference/names-and-records.md#views)); SRV by MCS 2.3.2.",
    example: asked("backed.shop.svc.clusterset.local A", "NODATA", "A 10.1.1.1"),
    where: (pair) => isClusterIp(pair) && pair.place.service?.ips.length === 0 && !isType(pair, "ANY"),
    coredns: nodata,
    ours: records,
  },
  {
    title: "A text in `spec.ips` that is not a usable address",
    corednsSays: "A CNAME to the text; mapped addresses as A; 0.0.0.0 as it is.",
    weSay: "The addresses; the rest is a finding.",
    reason: "`spec.ips` has IP addresses (KEP-1645); a CNAME stands alone (RFC 1034 section 3.6.2).",
    example: asked("half-bad.shop.svc.clusterset.local A", "A 10.200.0.16\nCNAME not-an-ip", "A 10.200.0.16"),
    where: (pair) =>
      (isService(pair) || isType(pair, "SRV")) &&
      !!pair.place.service?.ips.some((ip) => usableAddress(ip) === undefined),
    coredns: records,
    ours: either(nodata, both(records, part)),
  },
  {
    title: "`<hostname>.<clusterid>.<service>` of a ClusterSetIP service",
    corednsSays: "The endpoint, where slices are kept.",
    weSay: "NXDOMAIN.",
    reason: "Headless services only (MCS 2.4.1, 2.3.4).",
    example: asked("w0.cluster-a.web.shop.svc.clusterset.local A", "A 10.1.0.1", "NXDOMAIN"),
    ...onlyInCoreDns(
      (pair) => isClusterIp(pair) && pair.place.left.length === 2 && !isPortName(pair) && !isLax(pair),
    ),
  },
];

const sourcesOf = (pair: Pair) => slicesOf(pair).map(({ source }) => source);
const isUnlabelledAlone = (pair: Pair) =>
  slicesOf(pair).length > 0 && sourcesOf(pair).every((source) => source === undefined);
/** Whether a name is below a cluster id with a dot, or above such a name. */
const isOfDottedCluster = (pair: Pair) => {
  const { left } = pair.place;
  return sourcesOf(pair).some(
    (source) =>
      source?.includes(".") &&
      (`.${source}`.endsWith(`.${left.join(".")}`) || left.slice(1).join(".") === source),
  );
};

export const endpointDifferences: Difference[] = [
  {
    title: "Names below a cluster id of two labels",
    corednsSays: "SRV targets are NXDOMAIN themselves.",
    weSay: "The addresses; NODATA for the names above.",
    reason: "A cluster id may be two labels (KEP-1645, Terminology).",
    example: asked("dotty.c.dot.dotted.data.svc.clusterset.local A", "NXDOMAIN", "A 10.4.0.10"),
    ...onlyHere((pair) => !isService(pair) && isOfDottedCluster(pair)),
    ours: either(nodata, records),
  },
  {
    title: "A headless service without source-cluster labels",
    corednsSays: "A and AAAA as with the label; no answer for SRV.",
    weSay: "NXDOMAIN, and a finding.",
    reason: "The label is needed (KEP-1645, Using EndpointSlice objects).",
    example: asked("unlabelled.data.svc.clusterset.local A", "A 10.8.1.1", "NXDOMAIN"),
    ...onlyInCoreDns((pair) => isUnlabelledAlone(pair) && !isLax(pair) && pair.place.left.length !== 1),
  },
  {
    title: "A headless service with some slices without the label",
    corednsSays: "All endpoints for A and AAAA.",
    weSay: "Those with the label.",
    reason: "As above.",
    example: asked("half-labelled.data.svc.clusterset.local A", "A 10.8.1.2\nA 10.8.1.3", "A 10.8.1.2"),
    where: (pair) => isService(pair) && isType(pair, "A") && sourcesOf(pair).includes(undefined),
    coredns: both(records, more),
    ours: records,
  },
  {
    title: "SRV where a slice has no source cluster",
    corednsSays: "No answer.",
    weSay: "The SRV records of the other slices.",
    reason: "A server must answer (RFC 8906 section 2).",
    example: asked(
      "_pg._tcp.empty-label.data.svc.clusterset.local SRV",
      "no answer",
      "SRV 0 5432 n0.cluster-a.empty-label.data.svc.clusterset.local\n  with n0.cluster-a.empty-label.data.svc.clusterset.local A 10.8.1.4",
    ),
    where: (pair) => isType(pair, "SRV") && sourcesOf(pair).some((source) => !source),
    coredns: silent,
    ours: records,
  },
  {
    title: "`<hostname>.<service>` where a slice has no source cluster",
    corednsSays: "The endpoint; for SRV no answer.",
    weSay: "NXDOMAIN.",
    reason: "There is nothing shorter (MCS 2.4.1).",
    example: asked("n1.empty-label.data.svc.clusterset.local A", "A 10.8.1.5", "NXDOMAIN"),
    ...onlyInCoreDns((pair) => pair.place.left.length === 1 && sourcesOf(pair).some((source) => !source)),
  },
  {
    title: "A headless service with `addressType: FQDN`",
    corednsSays: "A CNAME to the host name.",
    weSay: "NXDOMAIN, and a finding.",
    reason: "MCS 2.4.1 has addresses only; several CNAMEs are forbidden (RFC 2181 section 10.1).",
    example: asked("host-names.data.svc.clusterset.local A", "CNAME host.example.com", "NXDOMAIN"),
    ...onlyInCoreDns(
      (pair) =>
        slicesOf(pair).length > 0 &&
        slicesOf(pair).every(({ addressType }) => addressType === "FQDN") &&
        !isLax(pair),
    ),
    isShared: true,
  },
];
