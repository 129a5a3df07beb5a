import type { Pair } from "../comparison/comparison.ts";
import { mixCase, zone } from "../questions.ts";
import {
  asked,
  type Difference,
  either,
  hasName,
  hasRecordsHere,
  isType,
  nodata,
  nxdomain,
  onlyHere,
  onlyInCoreDns,
  record,
  refused,
  servfail,
  zoneOf,
} from "./difference.ts";

const isInZone = ({ place }: Pair) => place.kind !== "outside" && place.kind !== "reverse";
const isLabel = ({ place }: Pair, ...labels: string[]) =>
  place.kind === "zone" && place.labels.join(".") === labels.join(".");
const isClusterset = (pair: Pair) => zoneOf(pair).toLowerCase() === zone;

/** Differences that have to do with a zone as a whole and with the type that is asked for. */
const differences: Difference[] = [
  {
    title: "TXT at a name without TXT",
    corednsSays: "NXDOMAIN at zone, `svc`, namespace, `ns.dns`, empty service.",
    weSay: "NODATA.",
    reason:
      "NXDOMAIN denies every type, and every name below (RFC 2308 sections 2.1 and 5, RFC 8020 section 2).",
    example: asked(`shop.svc.${zone} TXT`, "NXDOMAIN", "NODATA"),
    where: (pair) =>
      isInZone(pair) && isType(pair, "TXT") && hasName("coredns", pair) && hasName("ours", pair),
    coredns: nxdomain,
    ours: nodata,
  },
  {
    title: "SOA at a name that does not exist",
    corednsSays: "NODATA.",
    weSay: "NXDOMAIN.",
    reason: "The code says whether the name exists, whatever the type (RFC 2308 section 2).",
    example: asked(`nothing.${zone} SOA`, "NODATA", "NXDOMAIN"),
    where: (pair) =>
      isInZone(pair) && isType(pair, "SOA") && !hasName("coredns", pair) && !hasName("ours", pair),
    coredns: nodata,
    ours: nxdomain,
  },
  {
    title: "ANY at a name with records",
    corednsSays: "NODATA or NXDOMAIN.",
    weSay: "HINFO `RFC8482`.",
    reason: "RFC 8482 section 4.2.",
    example: asked(`web.shop.svc.${zone} ANY`, "NODATA", `HINFO {"cpu":"RFC8482","os":""}`),
    where: (pair) => isType(pair, "ANY") && hasRecordsHere(pair),
    coredns: either(nodata, nxdomain),
    ours: record("HINFO", () => '{"cpu":"RFC8482","os":""}'),
  },
  {
    title: "A name without records above names with records",
    corednsSays: "NXDOMAIN for `_<protocol>.<service>`, `<clusterid>.<service>`, `dns.<zone>`.",
    weSay: "NODATA.",
    reason:
      "Names above existing names exist (RFC 4592 section 2.2.2); else resolvers deny what is below (RFC 8020, RFC 9156).",
    example: asked(`_tcp.web.shop.svc.${zone} SRV`, "NXDOMAIN", "NODATA"),
    ...onlyHere(
      (pair) => isInZone(pair) && !hasRecordsHere(pair) && pair.all.isAboveSharedName(pair.question.name),
    ),
    ours: nodata,
  },
  {
    title: "A namespace without names in the zone, and `pod.<zone>`",
    corednsSays: "NODATA.",
    weSay: "NXDOMAIN.",
    reason: "A name exists if it or a name below has records (RFC 4592 section 2.2.3).",
    example: asked(`bare.svc.${zone} A`, "NODATA", "NXDOMAIN"),
    ...onlyInCoreDns(
      (pair) =>
        (pair.place.kind === "namespace" || isLabel(pair, "pod")) &&
        !pair.all.isAboveSharedName(pair.question.name),
    ),
  },
  {
    title: "`dns-version.<zone>`, other types than TXT",
    corednsSays: "NXDOMAIN.",
    weSay: "NODATA.",
    reason: "The name exists (RFC 2308 section 2.2).",
    example: asked(`dns-version.${zone} A`, "NXDOMAIN", "NODATA"),
    ...onlyHere((pair) => isLabel(pair, "dns-version") && !isType(pair, "TXT")),
    ours: nodata,
  },
  {
    title: "`dns-version.<zone>` TXT",
    corednsSays: '"1.1.0".',
    weSay: '"1.0.0".',
    reason: "MCS 2.2, MCS 1.",
    example: asked(`dns-version.${zone} TXT`, `TXT "1.1.0"`, `TXT "1.0.0"`),
    where: (pair) => isLabel(pair, "dns-version") && isType(pair, "TXT"),
    coredns: record("TXT", () => '"1.1.0"', 28800),
    ours: record("TXT", (pair) => (isClusterset(pair) ? '"1.0.0"' : '"1.0.1"'), 28800),
  },
  {
    title: "NS at the zone",
    corednsSays: "NODATA on loopback, or in mixed case.",
    weSay: "`ns.dns.<zone>`.",
    reason: "A zone has NS records at its apex (RFC 1034 section 4.2.1), in any case.",
    example: asked(`${zone} NS`, "NODATA", `NS ns.dns.${zone}`),
    where: (pair) => isLabel(pair) && isType(pair, "NS"),
    coredns: nodata,
    ours: record("NS", (pair) => `ns.dns.${zoneOf(pair).toLowerCase()}`),
  },
  {
    title: "`ns.dns.<zone>` in mixed case, or its PTR",
    corednsSays: "NXDOMAIN.",
    weSay: "NODATA, as in lower case.",
    reason: "RFC 4343 section 2, RFC 2308 section 2.1.",
    example: asked(`${mixCase(`ns.dns.${zone}`)} A`, "NXDOMAIN", "NODATA"),
    where: (pair) => isLabel(pair, "ns", "dns") && !isType(pair, "SOA", "TXT"),
    coredns: nxdomain,
    ours: nodata,
  },
  {
    title: "A name out of zone",
    corednsSays: "SERVFAIL without another plugin.",
    weSay: "REFUSED with Extended DNS Error 20, or by `outsideZones`.",
    reason: "The server is not authoritative (RFC 8914 section 4.21).",
    example: asked("example.com A", "SERVFAIL", "REFUSED"),
    where: ({ place }) => place.kind === "outside",
    coredns: servfail,
    ours: refused,
  },
];

/** The same in both zones. */
export const zoneDifferences = differences.map((one): Difference => ({ ...one, isShared: true }));
