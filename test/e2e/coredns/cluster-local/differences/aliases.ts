import type { Observed, ObservedRecord } from "../../comparison/observed.ts";
import {
  asked,
  type Difference,
  exactly,
  isType,
  nodata,
  nxdomain,
  onlyHere,
  onlyInCoreDns,
  positive,
  recordAt,
} from "../../differences/difference.ts";
import { aliasAt, isAboveOwnedName, type LocalPlace } from "../place.ts";
import { localZone } from "../questions.ts";
import type { LocalPair } from "./facts.ts";

/** How many aliases one answer of ours follows. */
const mostAliases = 8;

/** Where an alias leads: each CNAME on the way, and what the last one points to. */
interface Chain {
  records: ObservedRecord[];
  end: string;
  isCircle: boolean;
}

const isAlias = ({ place }: LocalPair) => place.aliasOf !== undefined;
const isOwned = (pair: LocalPair) => isAlias(pair) && pair.place.aliasOf !== pair.place.service;
const isAddressText = ({ place }: LocalPair) => /^[\d.]+$/.test(place.aliasOf?.externalName ?? "");
const isItself = ({ place, question }: LocalPair) =>
  place.aliasOf !== undefined && place.aliasOf.externalName === question.name.toLowerCase();
const isUsual = (pair: LocalPair) =>
  isAlias(pair) && !isOwned(pair) && !isAddressText(pair) && !isItself(pair);
const isIn = (zone: string, name: string) => name === zone || name.endsWith(`.${zone}`);

function follow(pair: LocalPair, most = Number.POSITIVE_INFINITY): Chain {
  const records: ObservedRecord[] = [];
  const seen = new Set<string>();
  let name = pair.question.name;
  for (;;) {
    const service = aliasAt(name.toLowerCase());
    if (service === undefined) return { records, end: name, isCircle: false };
    if (seen.has(name.toLowerCase())) return { records, end: name, isCircle: true };
    if (records.length === most) return { records, end: name, isCircle: false };
    seen.add(name.toLowerCase());
    records.push({ ...recordAt(pair, "CNAME", service.externalName!), owner: name });
    name = service.externalName!;
  }
}

/**
 * What follows the CNAMEs on one side: its own answer to the same question for the last target, if that is in
 * a zone.
 */
function answerAtEnd(pair: LocalPair, side: "coredns" | "ours", { end }: Chain): Observed | undefined {
  if (!isIn(localZone, end) && !isIn("clusterset.local", end)) return undefined;
  const asked = pair.all.at(end, pair.question.type);
  if (asked === undefined)
    throw new Error(`${end} ${pair.question.type} is the end of an alias and was not asked`);
  return asked[side];
}

/**
 * Expects the CNAMEs (RFC 1034 section 4.3.2), and behind them the code and the sections that their end has
 * (RFC 6604, RFC 2308).
 */
const followed = exactly<LocalPlace>("ours", (pair) => {
  const chain = follow(pair, mostAliases);
  const isCut = chain.isCircle || aliasAt(chain.end) !== undefined;
  const atEnd = isCut ? undefined : answerAtEnd(pair, "ours", chain);
  if (atEnd === undefined) return positive(chain.records);
  const { rcode, authority, additional } = atEnd;
  return { ...positive([...chain.records, ...atEnd.answer], additional), rcode, authority };
});

const onlyCnames = exactly<LocalPlace>("coredns", (pair) => positive(follow(pair).records));
const isAddressType = (pair: LocalPair) => isType(pair, "A", "AAAA");
const isLong = (pair: LocalPair) => follow(pair).records.length > mostAliases;
const lacksAnswer = (pair: LocalPair, zone: string) => {
  const chain = follow(pair);
  return !chain.isCircle && isIn(zone, chain.end) && answerAtEnd(pair, "coredns", chain)!.answer.length === 0;
};

/** Differences that have to do with Services of type ExternalName. */
export const aliasDifferences: Difference<LocalPlace>[] = [
  {
    id: "alias-other-types",
    title: "Other types at an ExternalName Service",
    corednsSays: "NODATA.",
    weSay: "The CNAME and its target.",
    reason: "A CNAME stands for every type (RFC 1034 section 3.6.2, DNS 2.5).",
    example: asked(
      "outside.aliases.svc.cluster.local HTTPS",
      "NODATA",
      "outside.aliases.svc.cluster.local CNAME www.example.com",
    ),
    applies: (pair) => isUsual(pair) && !isType(pair, "A", "AAAA", "CNAME", "ANY"),
    coredns: nodata("coredns"),
    ours: followed,
  },
  {
    id: "alias-dead-end",
    title: "A CNAME to nothing in the zone",
    corednsSays: "NODATA, without the CNAME.",
    weSay: "The CNAME; then the target's code.",
    reason: "The CNAME exists; the code is the target's (RFC 6604 section 3).",
    example: asked(
      "to-missing.aliases.svc.cluster.local A",
      "NODATA",
      "NXDOMAIN\nto-missing.aliases.svc.cluster.local CNAME nothing.shop.svc.cluster.local",
    ),
    applies: (pair) => isUsual(pair) && isAddressType(pair) && !isLong(pair) && lacksAnswer(pair, localZone),
    coredns: nodata("coredns"),
    ours: followed,
  },
  {
    id: "alias-circle",
    title: "A circular CNAME chain",
    corednsSays: "NODATA.",
    weSay: "Each CNAME once.",
    reason: "RFC 1034 section 5.2.2.",
    example: asked(
      "ring-a.aliases.svc.cluster.local A",
      "NODATA",
      "ring-a.aliases.svc.cluster.local CNAME ring-b.aliases.svc.cluster.local\nring-b.aliases.svc.cluster.local CNAME ring-c.aliases.svc.cluster.local\nring-c.aliases.svc.cluster.local CNAME ring-a.aliases.svc.cluster.local",
    ),
    applies: (pair) => isUsual(pair) && isAddressType(pair) && follow(pair).isCircle,
    coredns: nodata("coredns"),
    ours: followed,
  },
  {
    id: "alias-itself",
    title: "CNAME of an ExternalName Service to itself",
    corednsSays: "The CNAME.",
    weSay: "NODATA.",
    reason: "It leads nowhere: a finding (DNS 2.5).",
    example: asked(
      "itself.aliases.svc.cluster.local CNAME",
      "itself.aliases.svc.cluster.local CNAME itself.aliases.svc.cluster.local",
      "NODATA",
    ),
    applies: (pair) => isItself(pair) && isType(pair, "CNAME"),
    coredns: exactly<LocalPlace>("coredns", (pair) =>
      positive([recordAt(pair, "CNAME", pair.question.name.toLowerCase())]),
    ),
    ours: nodata("ours"),
  },
  {
    id: "alias-long",
    title: "More than eight CNAMEs",
    corednsSays: "The target, after up to eleven.",
    weSay: "Eight CNAMEs.",
    reason: "A bound on the cost; resolvers go on (RFC 1034 section 5.3.3).",
    example: asked(
      "link-0.aliases.svc.cluster.local A",
      [
        ...Array.from(
          { length: 9 },
          (_, index) =>
            `link-${index}.aliases.svc.cluster.local CNAME link-${index + 1}.aliases.svc.cluster.local`,
        ),
        "link-9.aliases.svc.cluster.local CNAME web.shop.svc.cluster.local",
        "web.shop.svc.cluster.local A 10.96.1.1",
      ].join("\n"),
      Array.from(
        { length: 8 },
        (_, index) =>
          `link-${index}.aliases.svc.cluster.local CNAME link-${index + 1}.aliases.svc.cluster.local`,
      ).join("\n"),
    ),
    applies: (pair) => isUsual(pair) && isAddressType(pair) && isLong(pair),
    coredns: exactly<LocalPlace>("coredns", (pair) => {
      const chain = follow(pair);
      return positive([...chain.records, ...answerAtEnd(pair, "coredns", chain)!.answer]);
    }),
    ours: followed,
  },
  {
    id: "alias-elsewhere-negative",
    title: "A CNAME to nothing in the clusterset zone",
    corednsSays: "The CNAME alone.",
    weSay: "The CNAME; then the target's code.",
    reason: "Both zones are the gateway's; the code is the target's (RFC 6604 section 3).",
    example: asked(
      "to-clusterset-missing.aliases.svc.cluster.local A",
      "to-clusterset-missing.aliases.svc.cluster.local CNAME nothing.clusterset.svc.clusterset.local",
      "NXDOMAIN\nto-clusterset-missing.aliases.svc.cluster.local CNAME nothing.clusterset.svc.clusterset.local",
    ),
    applies: (pair) => isUsual(pair) && isAddressType(pair) && lacksAnswer(pair, "clusterset.local"),
    coredns: onlyCnames,
    ours: followed,
  },
  {
    id: "alias-of-digits",
    title: "An `externalName` that reads like an IPv4 address",
    corednsSays: "NXDOMAIN; NODATA for SOA.",
    weSay: "The CNAME.",
    reason: 'It is "a DNS name comprised of digits" (Kubernetes, ExternalName; DNS 2.5).',
    example: asked(
      "v4-text.aliases.svc.cluster.local A",
      "NXDOMAIN",
      "v4-text.aliases.svc.cluster.local CNAME 192.0.2.9",
    ),
    applies: (pair) => isAlias(pair) && isAddressText(pair) && !isType(pair, "ANY"),
    coredns: (pair) => (isType(pair, "SOA") ? nodata("coredns")(pair) : nxdomain("coredns")(pair)),
    ours: followed,
  },
  {
    id: "owned-name",
    title: "A dotted name that an ExternalName Service owns",
    corednsSays: "NXDOMAIN; NODATA for SOA.",
    weSay: "The CNAME; NODATA above it.",
    reason: "Multi-label subdomain support, Proposed solution.",
    example: asked(
      "my-service.my-cluster.aliases.svc.cluster.local A",
      "NXDOMAIN",
      "my-service.my-cluster.aliases.svc.cluster.local CNAME your-service.your-cluster.example",
    ),
    applies: (pair) => isOwned(pair) && !isType(pair, "ANY"),
    coredns: (pair) => (isType(pair, "SOA") ? nodata("coredns")(pair) : nxdomain("coredns")(pair)),
    ours: followed,
  },
  {
    id: "above-owned-name",
    title: "The label above such a name",
    corednsSays: "NXDOMAIN.",
    weSay: "NODATA.",
    reason: "Names above existing names exist (RFC 4592 section 2.2.2).",
    example: asked("my-cluster.aliases.svc.cluster.local A", "NXDOMAIN", "NODATA"),
    ...onlyHere(
      ({ place }: LocalPair) => place.kind === "service" && isAboveOwnedName(place.labels.join(".")),
    ),
    ours: nodata("ours"),
  },
  {
    id: "name-given-up",
    title: "The own name of a Service that owns a dotted name",
    corednsSays: "The CNAME.",
    weSay: "NXDOMAIN.",
    reason: "Multi-label subdomain support.",
    example: asked(
      "renamed.aliases.svc.cluster.local A",
      "renamed.aliases.svc.cluster.local CNAME your-service.your-cluster.example",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns(
      ({ place }: LocalPair) =>
        place.kind === "service" && place.service?.kind === "external name" && place.aliasOf === undefined,
    ),
  },
];
