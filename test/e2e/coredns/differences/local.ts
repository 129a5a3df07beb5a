import type { Pair } from "../comparison/comparison.ts";
import type { ObservedRecord } from "../comparison/observed.ts";
import {
  asked,
  atLeast,
  both,
  type Difference,
  type Expect,
  either,
  hasName,
  hasRecordsHere,
  isType,
  nodata,
  nxdomain,
  onlyHere,
  onlyInCoreDns,
  part,
  record,
  records,
} from "./difference.ts";
import { isLax } from "./services.ts";

const isAt = ({ place }: Pair, name: string) => place.labels.join(".") === name;
const isAddressType = (pair: Pair) => isType(pair, "A", "AAAA");

/** The CNAMEs of an answer from the name that is asked for on, and where they lead. */
function follow({ question, ours }: Pair): { length: number; end: string; isCircle: boolean } {
  const targets = new Map(
    ours.answer.flatMap(({ owner, type, data }: ObservedRecord) =>
      type === "CNAME" ? [[owner.toLowerCase(), data] as const] : [],
    ),
  );
  const seen = new Set<string>();
  let end = question.name.toLowerCase();
  for (; targets.has(end) && !seen.has(end); end = targets.get(end)!) seen.add(end);
  return { length: seen.size, end, isCircle: seen.has(end) };
}

/** CNAMEs (RFC 1034 section 4.3.2), with the code and the SOA that their end has (RFC 6604, RFC 2308). */
const followed: Expect = (pair) => {
  const { length, end, isCircle } = follow(pair);
  const isCut = isCircle || (pair.all.at(end, "CNAME")?.ours.answer.length ?? 0) > 0;
  const atEnd = isCut ? undefined : pair.all.at(end, pair.question.type)?.ours;
  const { rcode, authority } = atEnd ?? { rcode: "NOERROR", authority: [] };
  return length > 0 && pair.ours.rcode === rcode && pair.ours.authority.length === authority.length;
};

/** Differences in a cluster's own zone alone. */
export const localOnlyDifferences: Difference[] = [
  {
    title: "Two labels below a service that are not `_<port>._<protocol>`",
    corednsSays: "Those of `_<port>._<protocol>`; `_` is a wildcard.",
    weSay: "NXDOMAIN.",
    reason: "There are no wildcards (DNS 2.3.2, 2.4.2, RFC 2782).",
    example: asked(
      "http.tcp.web.shop.svc.cluster.local SRV",
      "SRV 0 80 web.shop.svc.cluster.local\n  with web.shop.svc.cluster.local A 10.96.1.1\n  with web.shop.svc.cluster.local AAAA fd00:10:96::101",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns(isLax),
  },
  {
    title: "`<hostname>.<service>` of a service with a cluster IP",
    corednsSays: "The endpoint.",
    weSay: "NXDOMAIN.",
    reason: "Headless services only (DNS 2.4.1).",
    example: asked("w0.web.shop.svc.cluster.local A", "A 10.51.0.1", "NXDOMAIN"),
    ...onlyInCoreDns(({ place }) => place.service?.isHeadless === false && place.left.length === 1),
  },
  {
    title: "`publishNotReadyAddresses` with unready endpoints",
    corednsSays: "The ready ones only.",
    weSay: "All endpoints.",
    reason: "They count as ready (DNS 2.1; Kubernetes API, ServiceSpec).",
    example: asked("eager.data.svc.cluster.local A", "A 10.52.2.5", "A 10.52.2.4\nA 10.52.2.5"),
    where: (pair) =>
      !!pair.place.service?.isEager &&
      (hasRecordsHere(pair)
        ? !isType(pair, "ANY")
        : pair.place.left.join(".") === "_tcp" && !pair.all.isAboveSharedName(pair.question.name)),
    coredns: either(nxdomain, nodata, records),
    ours: both(either(nodata, records), atLeast),
  },
  {
    title: "Other types at an ExternalName Service",
    corednsSays: "NODATA.",
    weSay: "The CNAME and its target.",
    reason: "A CNAME stands for every type (RFC 1034 section 3.6.2, DNS 2.5).",
    example: asked("outside.aliases.svc.cluster.local HTTPS", "NODATA", "CNAME www.example.com"),
    where: (pair) => !isType(pair, "A", "AAAA", "ANY") && hasName("coredns", pair),
    coredns: nodata,
    ours: followed,
  },
  {
    title: "A CNAME to nothing in the zone",
    corednsSays: "NODATA, without the CNAME.",
    weSay: "The CNAME; then the target's code.",
    reason: "The CNAME exists; the code is the target's (RFC 6604 section 3).",
    example: asked(
      "to-missing.aliases.svc.cluster.local A",
      "NODATA",
      "NXDOMAIN\nCNAME nothing.shop.svc.cluster.local",
    ),
    where: (pair) => isAddressType(pair) && !follow(pair).isCircle,
    coredns: nodata,
    ours: followed,
  },
  {
    title: "A circular CNAME chain",
    corednsSays: "NODATA.",
    weSay: "Each CNAME once.",
    reason: "RFC 1034 section 5.2.2.",
    example: asked(
      "ring-a.aliases.svc.cluster.local A",
      "NODATA",
      "CNAME ring-b.aliases.svc.cluster.local\nring-b.aliases.svc.cluster.local CNAME ring-c.aliases.svc.cluster.local\nring-c.aliases.svc.cluster.local CNAME ring-a.aliases.svc.cluster.local",
    ),
    where: (pair) => isAddressType(pair) && follow(pair).isCircle,
    coredns: nodata,
    ours: followed,
  },
  {
    title: "CNAME of an ExternalName Service to itself",
    corednsSays: "The CNAME.",
    weSay: "NODATA.",
    reason: "It leads nowhere: a finding (DNS 2.5).",
    example: asked(
      "itself.aliases.svc.cluster.local CNAME",
      "CNAME itself.aliases.svc.cluster.local",
      "NODATA",
    ),
    where: (pair) => isType(pair, "CNAME"),
    coredns: record("CNAME", ({ question }) => question.name.toLowerCase()),
    ours: nodata,
  },
  {
    title: "More than eight CNAMEs",
    corednsSays: "The target, after up to eleven.",
    weSay: "Eight CNAMEs.",
    reason: "A bound on the cost; resolvers go on (RFC 1034 section 5.3.3).",
    example: asked(
      "link-0.aliases.svc.cluster.local A",
      [...links(10), "web.shop.svc.cluster.local A 10.96.1.1"].join("\n"),
      links(8).join("\n"),
    ),
    where: (pair) => isAddressType(pair) && follow(pair).length === 8,
    coredns: records,
    ours: both(followed, part),
  },
  {
    title: "A CNAME to nothing in the clusterset zone",
    corednsSays: "The CNAME alone.",
    weSay: "The CNAME; then the target's code.",
    reason: "Both zones are the gateway's; the code is the target's (RFC 6604 section 3).",
    example: asked(
      "to-clusterset-missing.aliases.svc.cluster.local A",
      "CNAME nothing.clusterset.svc.clusterset.local",
      "NXDOMAIN\nCNAME nothing.clusterset.svc.clusterset.local",
    ),
    where: (pair) => isAddressType(pair) && follow(pair).end.endsWith(".clusterset.local"),
    coredns: records,
    ours: both(followed, atLeast, part),
  },
  {
    title: "An `externalName` that reads like an IPv4 address",
    corednsSays: "NXDOMAIN; NODATA for SOA.",
    weSay: "The CNAME.",
    reason: 'It is "a DNS name comprised of digits" (Kubernetes, ExternalName; DNS 2.5).',
    example: asked("v4-text.aliases.svc.cluster.local A", "NXDOMAIN", "CNAME 192.0.2.9"),
    where: (pair) => isAt(pair, "v4-text.aliases.svc"),
    coredns: either(nxdomain, nodata),
    ours: followed,
  },
  {
    title: "A dotted name that an ExternalName Service owns",
    corednsSays: "NXDOMAIN; NODATA for SOA.",
    weSay: "The CNAME; NODATA above it.",
    reason: "Multi-label subdomain support, Proposed solution.",
    example: asked(
      "my-service.my-cluster.aliases.svc.cluster.local A",
      "NXDOMAIN",
      "CNAME your-service.your-cluster.example",
    ),
    where: (pair) => isAt(pair, "my-service.my-cluster.aliases.svc"),
    coredns: either(nxdomain, nodata),
    ours: followed,
  },
  {
    title: "The label above such a name",
    corednsSays: "NXDOMAIN.",
    weSay: "NODATA.",
    reason: "Names above existing names exist (RFC 4592 section 2.2.2).",
    example: asked("my-cluster.aliases.svc.cluster.local A", "NXDOMAIN", "NODATA"),
    ...onlyHere((pair) => isAt(pair, "my-cluster.aliases.svc")),
    ours: nodata,
  },
  {
    title: "The own name of a Service that owns a dotted name",
    corednsSays: "The CNAME.",
    weSay: "NXDOMAIN.",
    reason: "Multi-label subdomain support.",
    example: asked(
      "renamed.aliases.svc.cluster.local A",
      "CNAME your-service.your-cluster.example",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair) => isAt(pair, "renamed.aliases.svc")),
  },
  {
    mode: "insecure",
    title: "One or two labels below `a-b-c-d.<ns>.pod`",
    corednsSays: "The record of the pod.",
    weSay: "NXDOMAIN.",
    reason: "There is nothing below (DNS 2.6).",
    example: asked("x.10-50-0-1.shop.pod.cluster.local A", "A 10.50.0.1", "NXDOMAIN"),
    ...onlyInCoreDns(({ place }) => place.kind === "below pod"),
  },
  {
    mode: "insecure",
    title: "SRV at `a-b-c-d.<ns>.pod`",
    corednsSays: "Port 0, the name itself as the target.",
    weSay: "NODATA.",
    reason: "There are addresses only (DNS 2.6).",
    example: asked(
      "10-50-0-1.shop.pod.cluster.local SRV",
      "SRV 0 0 10-50-0-1.shop.pod.cluster.local\n  with A 10.50.0.1",
      "NODATA",
    ),
    where: (pair) => pair.place.kind === "pod" && isType(pair, "SRV") && hasName("ours", pair),
    coredns: records,
    ours: nodata,
  },
  {
    mode: "insecure",
    title: "A pod name of a mapped address (`--ffff-a32-1`)",
    corednsSays: "The IPv4 address, unverified.",
    weSay: "NXDOMAIN.",
    reason: "No pod has a mapped address (DNS 2.6).",
    example: asked("--ffff-a32-1.shop.pod.cluster.local A", "A 10.50.0.1", "NXDOMAIN"),
    ...onlyInCoreDns(({ place }) => place.kind === "pod" && place.labels[0]!.startsWith("--ffff-")),
  },
  {
    mode: "verified",
    title: "A pod whose address ends in `::`, with a zero (`fd00-50--0`)",
    corednsSays: "NXDOMAIN.",
    weSay: "The address at both names.",
    reason: "A host name does not end in a dash (RFC 1123 section 2.1).",
    example: asked("fd00-50--0.shop.pod.cluster.local AAAA", "NXDOMAIN", "AAAA fd00:50::"),
    ...onlyHere((pair) => isAt(pair, "fd00-50--0.shop.pod")),
    ours: either(
      nodata,
      record("AAAA", () => "fd00:50::"),
    ),
  },
];

/** The CNAMEs of a long chain from `link-0` on, as `summarize` writes them. */
function links(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const target = index === 9 ? "web.shop" : `link-${index + 1}.aliases`;
    const owner = index === 0 ? "" : `link-${index}.aliases.svc.cluster.local `;
    return `${owner}CNAME ${target}.svc.cluster.local`;
  });
}
