import { parseAddress, usableAddress } from "../../../../src/dns/address.ts";
import type { Pair } from "../comparison/comparison.ts";
import { asSet, type ObservedRecord, sameObserved, sameRecords } from "../comparison/observed.ts";
import { isReady } from "../worlds/services.ts";
import {
  asked,
  type Difference,
  exactly,
  isType,
  nodata,
  onlyHere,
  onlyInCoreDns,
  positive,
  recordAt,
} from "./difference.ts";
import { isClusterSetIp, isEndpointName, isPortName, portsMeant, portsOf, specOf } from "./service-facts.ts";

const ipsOf = ({ place }: Pair) => (isClusterSetIp(place.service) ? (specOf(place.service)?.ips ?? []) : []);
const usableIps = (pair: Pair) => ipsOf(pair).filter((ip) => usableAddress(ip) !== undefined);
const isService = ({ place }: Pair) => place.kind === "service" && isClusterSetIp(place.service);
const isAtServiceOrPort = (pair: Pair) =>
  isService(pair) || (isPortName(pair) && isClusterSetIp(pair.place.service) && portsMeant(pair).length > 0);
const hasPorts = ({ place }: Pair) => portsOf(place.service).length > 0;

const readyAddresses = ({ place }: Pair) =>
  place.service?.slices.flatMap(({ endpoints }) =>
    endpoints.filter(isReady).flatMap((one) => one.addresses),
  ) ?? [];

const typeOf = (address: string) => (parseAddress(address)?.length === 4 ? "A" : "AAAA");

/** Expects the addresses of the type that is asked for, for every other type NODATA. */
const addressesOnly = (addresses: (pair: Pair) => readonly string[]) => (pair: Pair) => {
  const asked = addresses(pair).filter((address) => isType(pair, typeOf(address)));
  if (asked.length === 0) return nodata("ours")(pair);
  return exactly("ours", () => positive(asked.map((ip) => recordAt(pair, typeOf(ip), ip))))(pair);
};

/**
 * The SRV records of the ports that are asked for, with the numbers on which endpoints listen, and the
 * addresses of their one target.
 */
const listeningPorts = exactly("ours", (pair) => {
  const { place } = pair;
  const target = `${place.labels.slice(place.left.length).join(".")}.clusterset.local`;
  const ports = isService(pair) ? portsOf(place.service) : portsMeant(pair);
  const listening = (place.service?.slices ?? []).flatMap((slice) => slice.ports);
  const numbers = ports.flatMap(({ name, port }) => {
    const own = new Set(listening.flatMap((one) => (one.name === name ? (one.port ?? []) : [])));
    return own.size === 0 ? [port] : [...own];
  });
  return positive(
    numbers.map((number) => recordAt(pair, "SRV", `0 ${number} ${target}`)),
    readyAddresses(pair).map((ip) => ({ ...recordAt(pair, typeOf(ip), ip), owner: target })),
  );
});

/** A text in `spec.ips` that CoreDNS makes another record of than an address that can be connected to. */
const isBadIp = (ip: string) => usableAddress(ip) === undefined;
/** One that it makes an address record of nevertheless: IPv4-mapped, or unspecified. */
const isOddAddress = (ip: string) => isBadIp(ip) && parseAddress(ip) !== undefined;
const isFromBadIp = (pair: Pair, { type, data }: ObservedRecord) =>
  type === "CNAME" ||
  (type !== "SRV" &&
    ipsOf(pair).some((ip) => isOddAddress(ip) && ip.toLowerCase().replace("::ffff:", "") === data));

/** Differences that have to do with the addresses of ClusterSetIP services. */
export const addressDifferences: Difference[] = [
  {
    id: "no-ports",
    title: "A ClusterSetIP service without ports or spec",
    corednsSays: "NXDOMAIN.",
    weSay: "A and AAAA for `spec.ips`.",
    reason: "There is no condition about ports (MCS 2.3.1).",
    example: asked(
      "no-ports.shop.svc.clusterset.local A",
      "NXDOMAIN",
      "no-ports.shop.svc.clusterset.local A 10.200.0.14",
    ),
    ...onlyHere((pair) => isService(pair) && !hasPorts(pair)),
    ours: addressesOnly(usableIps),
  },
  {
    id: "no-clusterset-ip",
    title: "A ClusterSetIP service without `spec.ips` whose endpoints are known",
    corednsSays: "NODATA for A, AAAA and SRV.",
    weSay: "Load balancers, else ready endpoints, and SRV records.",
    reason: "KEP-1645 leaves that open ([order](../reference/names-and-records.md#views)); SRV by MCS 2.3.2.",
    example: asked(
      "backed.shop.svc.clusterset.local A",
      "NODATA",
      "backed.shop.svc.clusterset.local A 10.1.1.1",
    ),
    applies: (pair) =>
      isAtServiceOrPort(pair) &&
      hasPorts(pair) &&
      ipsOf(pair).length === 0 &&
      (isType(pair, "SRV") || (isService(pair) && isType(pair, "A", "AAAA"))) &&
      readyAddresses(pair).some((address) => isType(pair, "SRV", typeOf(address))),
    coredns: nodata("coredns"),
    ours: (pair) => (isType(pair, "SRV") ? listeningPorts(pair) : addressesOnly(readyAddresses)(pair)),
  },
  {
    id: "bad-ips",
    title: "A text in `spec.ips` that is not a usable address",
    corednsSays: "A CNAME to the text; mapped addresses as A; 0.0.0.0 as it is.",
    weSay: "The addresses; the rest is a finding.",
    reason: "`spec.ips` has IP addresses (KEP-1645); a CNAME stands alone (RFC 1034 section 3.6.2).",
    example: asked(
      "half-bad.shop.svc.clusterset.local A",
      "half-bad.shop.svc.clusterset.local A 10.200.0.16\nhalf-bad.shop.svc.clusterset.local CNAME not-an-ip",
      "half-bad.shop.svc.clusterset.local A 10.200.0.16",
    ),
    applies: (pair) =>
      isAtServiceOrPort(pair) &&
      (isService(pair) || isType(pair, "SRV")) &&
      [...pair.coredns.answer, ...pair.coredns.additional].some((record) => isFromBadIp(pair, record)),
    coredns: (pair) => {
      const { answer, additional } = pair.coredns;
      const isOwn = (record: ObservedRecord) =>
        record.owner === pair.question.name && !isFromBadIp(pair, record);
      const addresses = usableIps(pair).filter((ip) => isType(pair, typeOf(ip)));
      const expected = addresses.map((ip) => recordAt(pair, typeOf(ip), ip));
      const isSound = sameObserved(pair.coredns, positive(answer, additional));
      return isSound && (isType(pair, "SRV") || sameRecords(answer.filter(isOwn), asSet(expected)));
    },
    ours: (pair) => {
      const { answer, additional } = pair.coredns;
      if (!isType(pair, "SRV")) return addressesOnly(usableIps)(pair);
      return exactly("ours", () =>
        positive(
          answer,
          additional.filter((one) => !isFromBadIp(pair, one)),
        ),
      )(pair);
    },
  },
  {
    id: "cluster-set-ip-endpoints",
    title: "`<hostname>.<clusterid>.<service>` of a ClusterSetIP service",
    corednsSays: "The endpoint, where slices are kept.",
    weSay: "NXDOMAIN.",
    reason: "Headless services only (MCS 2.4.1, 2.3.4).",
    example: asked(
      "w0.cluster-a.web.shop.svc.clusterset.local A",
      "w0.cluster-a.web.shop.svc.clusterset.local A 10.1.0.1",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair) => isEndpointName(pair) && isClusterSetIp(pair.place.service)),
  },
];
