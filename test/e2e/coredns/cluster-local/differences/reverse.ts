import type { Observed } from "../../comparison/observed.ts";
import {
  type Difference,
  exactly,
  isType,
  negative,
  nodata,
  nxdomain,
  positive,
  recordAt,
  refused,
  silent,
} from "../../differences/difference.ts";
import { dashed } from "../../questions.ts";
import { isReady } from "../../worlds/services.ts";
import { isThere, type LocalPlace, type OwnAddressUse } from "../place.ts";
import { localZone, nameOf } from "../questions.ts";
import type { LocalPair } from "./facts.ts";
import { isEager } from "./published.ts";

const nameFor = ({ service, from }: OwnAddressUse) =>
  from ? `${from.endpoint.hostname ?? dashed(from.address)}.${nameOf(service)}` : nameOf(service);

/** The PTR targets of an address by the specification: cluster IPs and ready endpoints of headless services. */
const namesHere = ({ place }: LocalPair) => place.uses.filter(isUsedHere).map(nameFor);
function isUsedHere({ service, from }: OwnAddressUse): boolean {
  if (!isThere(service)) return false;
  if (from === undefined) return true;
  return service.kind === "headless" && (isReady(from.endpoint) || isEager(service));
}

/** What CoreDNS makes of it: the first cluster IP, else every ready endpoint of every slice. */
const namesInCoreDns = ({ place }: LocalPair) => {
  const clusterIps = place.uses.filter(({ from }) => from === undefined);
  const endpoints = place.uses.filter(({ from }) => from !== undefined && isReady(from.endpoint));
  return [...new Set((clusterIps.length > 0 ? clusterIps : endpoints).map(nameFor))];
};

const isReverse = ({ place }: LocalPair) => place.kind === "reverse";
const isPtr = (pair: LocalPair) => isReverse(pair) && isType(pair, "PTR");
const hasPtr = (pair: LocalPair) => isReverse(pair) && namesHere(pair).length > 0;
const isNameless = (pair: LocalPair) => isPtr(pair) && !hasPtr(pair);
const pointers = (pair: LocalPair, names: readonly string[]): Observed =>
  positive(names.map((name) => recordAt(pair, "PTR", name)));
const allInCoreDns = exactly<LocalPlace>("coredns", (pair) => pointers(pair, namesInCoreDns(pair)));
const hasClusterIpEndpoint = ({ place }: LocalPair) =>
  place.uses.some(({ service, from }) => from && isThere(service) && service.kind === "cluster IP");
const leftovers = ({ place }: LocalPair) =>
  place.uses.some(({ service }) => !isThere(service) || service.kind === "external name");

/** Differences that have to do with reverse names; CoreDNS is configured with `in-addr.arpa` and `ip6.arpa`. */
export const reverseDifferences: Difference<LocalPlace>[] = [
  {
    id: "ptr-several",
    title: "PTR of an address of several names",
    corednsSays: "All of them.",
    weSay: "One of them, of the oldest Service.",
    reason: '"Each IP must only have one PTR record" (KEP-1645).',
    example: {
      question: { name: "2.4.52.10.in-addr.arpa", type: "PTR" },
      coredns:
        "2.4.52.10.in-addr.arpa PTR 10-52-4-2.two-names.data.svc.cluster.local\n2.4.52.10.in-addr.arpa PTR t0.two-names.data.svc.cluster.local\n2.4.52.10.in-addr.arpa PTR t1.two-names.data.svc.cluster.local",
      ours: "2.4.52.10.in-addr.arpa PTR t0.two-names.data.svc.cluster.local",
    },
    applies: (pair) => isPtr(pair) && hasPtr(pair) && namesInCoreDns(pair).length > 1,
    coredns: allInCoreDns,
    ours: (pair) =>
      namesHere(pair).some((name) => exactly<LocalPlace>("ours", () => pointers(pair, [name]))(pair)),
  },
  {
    id: "ptr-published",
    title: "PTR of an endpoint that is not ready, but published",
    corednsSays: "NXDOMAIN.",
    weSay: "The endpoint.",
    reason: "It counts as ready (DNS 2.1, 2.4.3).",
    example: {
      question: { name: "4.2.52.10.in-addr.arpa", type: "PTR" },
      coredns: "NXDOMAIN",
      ours: "4.2.52.10.in-addr.arpa PTR e0.eager.data.svc.cluster.local",
    },
    applies: (pair) => isPtr(pair) && hasPtr(pair) && namesInCoreDns(pair).length === 0,
    coredns: nxdomain("coredns"),
    ours: exactly<LocalPlace>("ours", (pair) => pointers(pair, namesHere(pair))),
  },
  {
    id: "ptr-of-cluster-ip-endpoint",
    title: "PTR of an endpoint of a service with a cluster IP",
    corednsSays: "`<hostname>.<service>`.",
    weSay: "REFUSED.",
    reason: "Headless services only (DNS 2.4.3).",
    example: {
      question: { name: "1.0.51.10.in-addr.arpa", type: "PTR" },
      coredns: "1.0.51.10.in-addr.arpa PTR w0.web.shop.svc.cluster.local",
      ours: "REFUSED",
    },
    applies: (pair) => isNameless(pair) && hasClusterIpEndpoint(pair) && namesInCoreDns(pair).length > 0,
    coredns: allInCoreDns,
    ours: refused("ours"),
  },
  {
    id: "ptr-to-nowhere",
    title: "PTR of an address in a missing namespace, or of an ExternalName Service",
    corednsSays: "A name that does not exist.",
    weSay: "REFUSED.",
    reason: "A PTR record points to the host's name (RFC 1035 section 3.3.12).",
    example: {
      question: { name: "2.2.96.10.in-addr.arpa", type: "PTR" },
      coredns: "2.2.96.10.in-addr.arpa PTR web.gone.svc.cluster.local",
      ours: "REFUSED",
    },
    applies: (pair) => isNameless(pair) && leftovers(pair) && namesInCoreDns(pair).length > 0,
    coredns: allInCoreDns,
    ours: refused("ours"),
  },
  {
    id: "ptr-of-stray",
    title: "PTR of an address in a slice that belongs to no Service",
    corednsSays: "No answer, or a name that does not exist.",
    weSay: "REFUSED.",
    reason: "Headless services only (DNS 2.4.3).",
    example: {
      question: { name: "1.0.55.10.in-addr.arpa", type: "PTR" },
      coredns: "no answer",
      ours: "REFUSED",
    },
    applies: (pair) => isPtr(pair) && pair.place.isStray,
    coredns: (pair) =>
      silent(pair) ||
      exactly<LocalPlace>("coredns", () => pointers(pair, [`o0.orphan.data.svc.${localZone}`]))(pair),
    ours: refused("ours"),
  },
  {
    id: "reverse-other-types",
    title: "Other types at a reverse name that has a PTR record",
    corednsSays: "NXDOMAIN; NODATA for SOA.",
    weSay: "NODATA, with an SOA of the name itself.",
    reason: "The name exists (RFC 2308 section 2.2), and the gateway owns nothing around it.",
    example: {
      question: { name: "2.1.96.10.in-addr.arpa", type: "A" },
      coredns: "NXDOMAIN",
      ours: "NODATA",
    },
    applies: (pair) => hasPtr(pair) && !isType(pair, "PTR", "ANY"),
    coredns: (pair) => (isType(pair, "SOA") ? nodata("coredns")(pair) : nxdomain("coredns")(pair)),
    ours: exactly<LocalPlace>("ours", (pair) => {
      const atName = negative("NOERROR", pair.question.name, localZone);
      return isType(pair, "SOA") ? positive(atName.authority) : atName;
    }),
  },
  {
    id: "reverse-unknown",
    title: "Reverse names of other addresses",
    corednsSays: "NXDOMAIN for all of `in-addr.arpa` and `ip6.arpa`.",
    weSay: "REFUSED.",
    reason: "The server is not authoritative (RFC 8914 section 4.21).",
    example: {
      question: { name: "1.0.250.10.in-addr.arpa", type: "PTR" },
      coredns: "NXDOMAIN",
      ours: "REFUSED",
    },
    applies: (pair) =>
      isReverse(pair) &&
      !hasPtr(pair) &&
      !(isType(pair, "PTR") && (pair.place.isStray || namesInCoreDns(pair).length > 0)),
    coredns: (pair) => (isType(pair, "SOA") ? nodata("coredns")(pair) : nxdomain("coredns")(pair)),
    ours: refused("ours"),
  },
];
