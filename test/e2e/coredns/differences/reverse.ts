import type { Pair } from "../comparison/comparison.ts";
import { reverseNameOf } from "../questions.ts";
import {
  asked,
  both,
  type Difference,
  type Expect,
  either,
  hasName,
  isType,
  more,
  nodata,
  nodataAtName,
  nxdomain,
  records,
  refused,
  silent,
} from "./difference.ts";

const isReverse = ({ place }: Pair) => place.kind === "reverse";
const isPtr = (pair: Pair) => isReverse(pair) && isType(pair, "PTR");
/** One PTR record, to a name that has the address. */
const pointer: Expect = (pair, side) => {
  const [first, ...others] = pair[side].answer;
  if (!records(pair, side) || first === undefined || others.length > 0) return false;
  const addresses = ["A", "AAAA"].flatMap((type) => pair.all.at(first.data, type)?.[side].answer ?? []);
  return addresses.some(({ data }) => reverseNameOf(data) === pair.question.name.toLowerCase());
};
const pointsOutside: Expect = (pair, side) =>
  pair[side].answer.length === 1 && pair[side].answer[0]!.data.endsWith(".svc.cluster.local");
/** Whether the name that CoreDNS's first PTR record points to exists for it. */
const leadsSomewhere = ({ coredns, all }: Pair) => {
  const target = coredns.answer[0] && all.at(coredns.answer[0].data, "A");
  return target !== undefined && hasName("coredns", target);
};

/** Differences at reverse names; CoreDNS is configured with `in-addr.arpa` and `ip6.arpa`. */
export const reverseDifferences: Difference[] = [
  {
    title: "PTR of a clusterset IP",
    corednsSays: "NXDOMAIN.",
    weSay: "The service.",
    reason: "MCS 2.3.3.",
    example: asked("2.0.200.10.in-addr.arpa PTR", "NXDOMAIN", "PTR v4.shop.svc.clusterset.local"),
    where: isPtr,
    coredns: nxdomain,
    ours: pointer,
  },
  {
    title: "PTR of an imported endpoint",
    corednsSays: "No answer.",
    weSay: "`<hostname>.<clusterid>.<service>` for a headless service, else REFUSED.",
    reason: "MCS 2.4.3.",
    example: asked("1.4.7.10.in-addr.arpa PTR", "no answer", "PTR p0.cluster-a.v4.data.svc.clusterset.local"),
    where: isPtr,
    coredns: silent,
    ours: either(pointer, refused),
  },
  {
    title: "PTR of an address of a Service, too",
    corednsSays: "The Service, in `cluster.local`.",
    weSay: "The clusterset service.",
    reason: "Clients outside cannot use `cluster.local` (MCS 2.3.3, 2.4.3).",
    example: asked(
      "77.77.96.10.in-addr.arpa PTR",
      "PTR derived.shop.svc.cluster.local",
      "PTR derived.shop.svc.clusterset.local",
    ),
    where: isPtr,
    coredns: pointsOutside,
    ours: pointer,
  },
  {
    title: "Other types at a reverse name that has a PTR record",
    corednsSays: "NXDOMAIN; NODATA for SOA.",
    weSay: "NODATA, with an SOA of the name itself.",
    reason: "The name exists (RFC 2308 section 2.2), and the gateway owns nothing around it.",
    example: asked("2.0.200.10.in-addr.arpa A", "NXDOMAIN", "NODATA"),
    where: (pair) => isReverse(pair) && !isType(pair, "PTR", "ANY"),
    coredns: either(nxdomain, nodata),
    ours: nodataAtName,
    isShared: true,
  },
  {
    title: "Reverse names of other addresses",
    corednsSays: "NXDOMAIN for all of `in-addr.arpa` and `ip6.arpa`.",
    weSay: "REFUSED.",
    reason: "The server is not authoritative (RFC 8914 section 4.21).",
    example: asked("1.0.250.10.in-addr.arpa PTR", "NXDOMAIN", "REFUSED"),
    where: isReverse,
    coredns: either(nxdomain, nodata),
    ours: refused,
    isShared: true,
  },
];

/** The fixture has these addresses in slices that belong to no Service. */
const isOfStray = ({ question }: Pair) => /\.0\.55\.10\.in-addr\.arpa$/i.test(question.name);

/** Those in a cluster's own zone alone. */
export const localReverseDifferences: Difference[] = [
  {
    title: "PTR of an address of several names",
    corednsSays: "All of them.",
    weSay: "One of them, of the oldest Service.",
    reason: '"Each IP must only have one PTR record" (KEP-1645).',
    example: asked(
      "2.4.52.10.in-addr.arpa PTR",
      "PTR 10-52-4-2.two-names.data.svc.cluster.local\nPTR t0.two-names.data.svc.cluster.local\nPTR t1.two-names.data.svc.cluster.local",
      "PTR t0.two-names.data.svc.cluster.local",
    ),
    where: isPtr,
    coredns: both(records, more),
    ours: pointer,
  },
  {
    title: "PTR of an endpoint that is not ready, but published",
    corednsSays: "NXDOMAIN.",
    weSay: "The endpoint.",
    reason: "It counts as ready (DNS 2.1, 2.4.3).",
    example: asked("4.2.52.10.in-addr.arpa PTR", "NXDOMAIN", "PTR e0.eager.data.svc.cluster.local"),
    where: isPtr,
    coredns: nxdomain,
    ours: pointer,
  },
  {
    title: "PTR of an endpoint of a service with a cluster IP",
    corednsSays: "`<hostname>.<service>`.",
    weSay: "REFUSED.",
    reason: "Headless services only (DNS 2.4.3).",
    example: asked("1.0.51.10.in-addr.arpa PTR", "PTR w0.web.shop.svc.cluster.local", "REFUSED"),
    where: (pair) => isPtr(pair) && leadsSomewhere(pair),
    coredns: records,
    ours: refused,
  },
  {
    title: "PTR of an address in a missing namespace, or of an ExternalName Service",
    corednsSays: "A name that does not exist.",
    weSay: "REFUSED.",
    reason: "A PTR record points to the host's name (RFC 1035 section 3.3.12).",
    example: asked("2.2.96.10.in-addr.arpa PTR", "PTR web.gone.svc.cluster.local", "REFUSED"),
    where: (pair) => isPtr(pair) && !leadsSomewhere(pair) && !isOfStray(pair),
    coredns: records,
    ours: refused,
  },
  {
    title: "PTR of an address in a slice that belongs to no Service",
    corednsSays: "No answer, or a name that does not exist.",
    weSay: "REFUSED.",
    reason: "Headless services only (DNS 2.4.3).",
    example: asked("1.0.55.10.in-addr.arpa PTR", "no answer", "REFUSED"),
    where: (pair) => isPtr(pair) && isOfStray(pair),
    coredns: either(silent, records),
    ours: refused,
  },
];
