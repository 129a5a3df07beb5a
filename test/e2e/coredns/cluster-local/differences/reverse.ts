import type { Observed } from "../../comparison/observed.ts";
import {
  asked,
  type Difference,
  exactly,
  isType,
  nxdomain,
  positive,
  recordAt,
  refused,
  silent,
} from "../../differences/difference.ts";
import { otherReverseDifferences } from "../../differences/reverse.ts";
import { dashed } from "../../questions.ts";
import { isReady } from "../../worlds/services.ts";
import { isThere, type LocalPlace, type OwnAddressUse } from "../place.ts";
import { localZone, nameOf } from "../questions.ts";
import type { LocalPair } from "./facts.ts";
import { isEager } from "./published.ts";

const nameFor = ({ service, from }: OwnAddressUse) =>
  from ? `${from.endpoint.hostname ?? dashed(from.address)}.${nameOf(service)}` : nameOf(service);

/**
 * The PTR targets of an address by the specification: cluster IPs and ready endpoints of headless services.
 */
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

/**
 * Differences that have to do with reverse names; CoreDNS is configured with `in-addr.arpa` and `ip6.arpa`.
 */
export const reverseDifferences: Difference<LocalPlace>[] = [
  {
    id: "ptr-several",
    title: "PTR of an address of several names",
    corednsSays: "All of them.",
    weSay: "One of them, of the oldest Service.",
    reason: '"Each IP must only have one PTR record" (KEP-1645).',
    example: asked(
      "2.4.52.10.in-addr.arpa PTR",
      "2.4.52.10.in-addr.arpa PTR 10-52-4-2.two-names.data.svc.cluster.local\n2.4.52.10.in-addr.arpa PTR t0.two-names.data.svc.cluster.local\n2.4.52.10.in-addr.arpa PTR t1.two-names.data.svc.cluster.local",
      "2.4.52.10.in-addr.arpa PTR t0.two-names.data.svc.cluster.local",
    ),
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
    example: asked(
      "4.2.52.10.in-addr.arpa PTR",
      "NXDOMAIN",
      "4.2.52.10.in-addr.arpa PTR e0.eager.data.svc.cluster.local",
    ),
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
    example: asked(
      "1.0.51.10.in-addr.arpa PTR",
      "1.0.51.10.in-addr.arpa PTR w0.web.shop.svc.cluster.local",
      "REFUSED",
    ),
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
    example: asked(
      "2.2.96.10.in-addr.arpa PTR",
      "2.2.96.10.in-addr.arpa PTR web.gone.svc.cluster.local",
      "REFUSED",
    ),
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
    example: asked("1.0.55.10.in-addr.arpa PTR", "no answer", "REFUSED"),
    applies: (pair) => isPtr(pair) && pair.place.isStray,
    coredns: (pair) =>
      silent(pair) ||
      exactly<LocalPlace>("coredns", () => pointers(pair, [`o0.orphan.data.svc.${localZone}`]))(pair),
    ours: refused("ours"),
  },
  ...otherReverseDifferences<LocalPlace>(
    localZone,
    "2.1.96.10.in-addr.arpa",
    hasPtr,
    (pair) => isType(pair, "PTR") && (pair.place.isStray || namesInCoreDns(pair).length > 0),
  ),
];
