import { serviceLabel } from "../../servers/kubernetes/objects.ts";
import type { Pair } from "../comparison/comparison.ts";
import type { AddressUse, NamePlace, Place } from "../place.ts";
import { dashed, zone } from "../questions.ts";
import {
  asked,
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
} from "./difference.ts";
import { isHeadless } from "./service-facts.ts";

/** The PTR target of a reverse name of the fixture, or undefined if its use has none. */
function nameFor({ service, isImported, from }: AddressUse): string | undefined {
  if (!isImported || service.name.includes(".") || service.name.length > 63) return undefined;
  const own = `${service.name}.${service.namespace}.svc.${zone}`;
  if (from === undefined) return own;
  if (!isHeadless(service) || !from.slice.source) return undefined;
  return `${from.endpoint.hostname ?? dashed(from.address)}.${from.slice.source.toLowerCase()}.${own}`;
}

const namesFor = ({ place }: Pair) => place.uses.flatMap((use) => nameFor(use) ?? []);
const isReverse = ({ place }: Pair<NamePlace>) => place.kind === "reverse";
const hasPtr = (pair: Pair) => isReverse(pair) && namesFor(pair).length > 0;
const isClusterSetIpOf = ({ place }: Pair) => place.uses.some(({ from }) => from === undefined);
const hasOwnService = ({ place }: Pair) =>
  place.uses.some(({ service, from }) => from?.slice.labels[serviceLabel] || service.name === "derived");
const isImportedEndpoint = (pair: Pair) => pair.place.uses.some(({ from }) => from !== undefined);

/** Expects the PTR record of one of the names that the address may lead to. */
const ptr = (pair: Pair) =>
  namesFor(pair).some((name) => exactly("ours", () => positive([recordAt(pair, "PTR", name)]))(pair));

/**
 * Differences that have to do with reverse names; CoreDNS is configured with `in-addr.arpa` and `ip6.arpa`.
 */
export const reverseDifferences: Difference[] = [
  {
    id: "ptr-of-clusterset-ip",
    title: "PTR of a clusterset IP",
    corednsSays: "NXDOMAIN.",
    weSay: "The service.",
    reason: "MCS 2.3.3.",
    example: asked(
      "2.0.200.10.in-addr.arpa PTR",
      "NXDOMAIN",
      "2.0.200.10.in-addr.arpa PTR v4.shop.svc.clusterset.local",
    ),
    applies: (pair) => isType(pair, "PTR") && hasPtr(pair) && isClusterSetIpOf(pair) && !hasOwnService(pair),
    coredns: nxdomain("coredns"),
    ours: ptr,
  },
  {
    id: "ptr-of-endpoint",
    title: "PTR of an imported endpoint",
    corednsSays: "No answer.",
    weSay: "`<hostname>.<clusterid>.<service>` for a headless service, else REFUSED.",
    reason: "MCS 2.4.3.",
    example: asked(
      "1.4.7.10.in-addr.arpa PTR",
      "no answer",
      "1.4.7.10.in-addr.arpa PTR p0.cluster-a.v4.data.svc.clusterset.local",
    ),
    applies: (pair) =>
      isType(pair, "PTR") && isReverse(pair) && isImportedEndpoint(pair) && !hasOwnService(pair),
    coredns: silent,
    ours: (pair) => (hasPtr(pair) ? ptr(pair) : refused("ours")(pair)),
  },
  {
    id: "ptr-of-own-service",
    title: "PTR of an address of a Service, too",
    corednsSays: "The Service, in `cluster.local`.",
    weSay: "The clusterset service.",
    reason: "Clients outside cannot use `cluster.local` (MCS 2.3.3, 2.4.3).",
    example: asked(
      "77.77.96.10.in-addr.arpa PTR",
      "77.77.96.10.in-addr.arpa PTR derived.shop.svc.cluster.local",
      "77.77.96.10.in-addr.arpa PTR derived.shop.svc.clusterset.local",
    ),
    applies: (pair) => isType(pair, "PTR") && hasPtr(pair) && hasOwnService(pair),
    coredns: ({ coredns }) =>
      coredns.answer.length === 1 && coredns.answer[0]!.data.endsWith(".svc.cluster.local"),
    ours: ptr,
  },
  ...otherReverseDifferences<Place>(
    zone,
    "2.0.200.10.in-addr.arpa",
    hasPtr,
    (pair) => isType(pair, "PTR") && isImportedEndpoint(pair),
  ),
];

/**
 * Differences at the reverse names of any fixture.
 * @param example a reverse name that has a PTR record
 * @param isOther whether another difference is about the question
 */
export function otherReverseDifferences<Where extends NamePlace>(
  zone: string,
  example: string,
  hasPtr: (pair: Pair<Where>) => boolean,
  isOther: (pair: Pair<Where>) => boolean,
): Difference<Where>[] {
  const coredns = (pair: Pair<Where>) =>
    isType(pair, "SOA") ? nodata("coredns")(pair) : nxdomain("coredns")(pair);
  return [
    {
      id: "reverse-other-types",
      title: "Other types at a reverse name that has a PTR record",
      corednsSays: "NXDOMAIN; NODATA for SOA.",
      weSay: "NODATA, with an SOA of the name itself.",
      reason: "The name exists (RFC 2308 section 2.2), and the gateway owns nothing around it.",
      example: asked(`${example} A`, "NXDOMAIN", "NODATA"),
      applies: (pair) => hasPtr(pair) && !isType(pair, "PTR", "ANY"),
      coredns,
      ours: exactly<Where>("ours", (pair) => {
        const nodataAtName = negative("NOERROR", pair.question.name, zone);
        return isType(pair, "SOA") ? positive(nodataAtName.authority) : nodataAtName;
      }),
    },
    {
      id: "reverse-unknown",
      title: "Reverse names of other addresses",
      corednsSays: "NXDOMAIN for all of `in-addr.arpa` and `ip6.arpa`.",
      weSay: "REFUSED.",
      reason: "The server is not authoritative (RFC 8914 section 4.21).",
      example: asked("1.0.250.10.in-addr.arpa PTR", "NXDOMAIN", "REFUSED"),
      applies: (pair) => isReverse(pair) && !hasPtr(pair) && !isOther(pair),
      coredns,
      ours: refused("ours"),
    },
  ];
}
