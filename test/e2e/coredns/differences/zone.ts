import type { Pair } from "../comparison/comparison.ts";
import { silence } from "../comparison/observed.ts";
import type { NamePlace } from "../place.ts";
import { mixCase } from "../questions.ts";
import {
  asked,
  type Difference,
  exactly,
  hasName,
  hasRecordsHere,
  isType,
  nodata,
  nxdomain,
  onlyHere,
  onlyInCoreDns,
  positive,
  recordAt,
  refused,
  zoneOf,
} from "./difference.ts";

/** A zone of Kubernetes that both sides serve, of two labels, with services in the namespace `shop`. */
interface ServedZone {
  zone: string;
  /** The version of its schema, and why it is this one. */
  version: string;
  versionReason: string;
  /** Why a namespace without names is not there. */
  emptyReason: string;
}

const isInZone = ({ place }: Pair<NamePlace>) => place.kind !== "outside" && place.kind !== "reverse";
const isLabel = ({ place }: Pair<NamePlace>, ...labels: string[]) =>
  place.kind === "zone" && place.labels.join(".") === labels.join(".");

/** Differences that have to do with a zone as a whole and with the type that is asked for. */
export function zoneDifferences(served: ServedZone): Difference<NamePlace>[] {
  const { zone, version, versionReason, emptyReason } = served;
  return [
    {
      id: "txt-denies-name",
      title: "TXT at a name without TXT",
      corednsSays: "NXDOMAIN at zone, `svc`, namespace, `ns.dns`, empty service.",
      weSay: "NODATA.",
      reason:
        "NXDOMAIN denies every type, and every name below (RFC 2308 sections 2.1 and 5, RFC 8020 section 2).",
      example: asked(`shop.svc.${zone} TXT`, "NXDOMAIN", "NODATA"),
      applies: (pair) =>
        isInZone(pair) &&
        isType(pair, "TXT") &&
        pair.coredns.rcode === "NXDOMAIN" &&
        hasName("coredns", pair) &&
        hasName("ours", pair),
      coredns: nxdomain("coredns"),
      ours: nodata("ours"),
    },
    {
      id: "soa-admits-name",
      title: "SOA at a name that does not exist",
      corednsSays: "NODATA.",
      weSay: "NXDOMAIN.",
      reason: "The code says whether the name exists, whatever the type (RFC 2308 section 2).",
      example: asked(`nothing.${zone} SOA`, "NODATA", "NXDOMAIN"),
      applies: (pair) =>
        isInZone(pair) && isType(pair, "SOA") && !hasName("coredns", pair) && !hasName("ours", pair),
      coredns: nodata("coredns"),
      ours: nxdomain("ours"),
    },
    {
      id: "any",
      title: "ANY at a name with records",
      corednsSays: "NODATA or NXDOMAIN.",
      weSay: "HINFO `RFC8482`.",
      reason: "RFC 8482 section 4.2.",
      example: asked(
        `web.shop.svc.${zone} ANY`,
        "NODATA",
        `web.shop.svc.${zone} HINFO {"cpu":"RFC8482","os":""}`,
      ),
      applies: (pair) => isType(pair, "ANY") && hasRecordsHere(pair),
      coredns: (pair) => nodata("coredns")(pair) || nxdomain("coredns")(pair),
      ours: exactly("ours", (pair) => positive([recordAt(pair, "HINFO", '{"cpu":"RFC8482","os":""}')])),
    },
    {
      id: "empty-non-terminal",
      title: "A name without records above names with records",
      corednsSays: "NXDOMAIN for `_<protocol>.<service>`, `<clusterid>.<service>`, `dns.<zone>`.",
      weSay: "NODATA.",
      reason:
        "Names above existing names exist (RFC 4592 section 2.2.2); else resolvers deny what is below (RFC 8020, RFC 9156).",
      example: asked(`_tcp.web.shop.svc.${zone} SRV`, "NXDOMAIN", "NODATA"),
      ...onlyHere(
        (pair) => isInZone(pair) && !hasRecordsHere(pair) && pair.all.isAboveSharedName(pair.question.name),
      ),
      ours: nodata("ours"),
    },
    {
      id: "nothing-below",
      title: "A namespace without names in the zone, and `pod.<zone>`",
      corednsSays: "NODATA.",
      weSay: "NXDOMAIN.",
      reason: emptyReason,
      example: asked(`bare.svc.${zone} A`, "NODATA", "NXDOMAIN"),
      ...onlyInCoreDns(
        (pair) =>
          (pair.place.kind === "namespace" || isLabel(pair, "pod")) &&
          !pair.all.isAboveSharedName(pair.question.name),
      ),
    },
    {
      id: "version-name",
      title: "`dns-version.<zone>`, other types than TXT",
      corednsSays: "NXDOMAIN.",
      weSay: "NODATA.",
      reason: "The name exists (RFC 2308 section 2.2).",
      example: asked(`dns-version.${zone} A`, "NXDOMAIN", "NODATA"),
      ...onlyHere((pair) => isLabel(pair, "dns-version") && !isType(pair, "TXT")),
      ours: nodata("ours"),
    },
    {
      id: "version",
      title: "`dns-version.<zone>` TXT",
      corednsSays: '"1.1.0".',
      weSay: `"${version}".`,
      reason: versionReason,
      example: asked(
        `dns-version.${zone} TXT`,
        `dns-version.${zone} TXT "1.1.0"`,
        `dns-version.${zone} TXT "${version}"`,
      ),
      applies: (pair) => isLabel(pair, "dns-version") && isType(pair, "TXT"),
      coredns: exactly("coredns", (pair) => positive([{ ...recordAt(pair, "TXT", '"1.1.0"'), ttl: 28800 }])),
      ours: exactly("ours", (pair) => positive([{ ...recordAt(pair, "TXT", `"${version}"`), ttl: 28800 }])),
    },
    {
      id: "apex-ns",
      title: "NS at the zone",
      corednsSays: "NODATA on loopback, or in mixed case.",
      weSay: "`ns.dns.<zone>`.",
      reason: "A zone has NS records at its apex (RFC 1034 section 4.2.1), in any case.",
      example: asked(`${zone} NS`, "NODATA", `${zone} NS ns.dns.${zone}`),
      applies: (pair) => isLabel(pair) && isType(pair, "NS"),
      coredns: nodata("coredns"),
      ours: exactly("ours", (pair) => positive([recordAt(pair, "NS", `ns.dns.${zone}`)])),
    },
    {
      id: "name-server-name",
      title: "`ns.dns.<zone>` in mixed case, or its PTR",
      corednsSays: "NXDOMAIN.",
      weSay: "NODATA, as in lower case.",
      reason: "RFC 4343 section 2, RFC 2308 section 2.1.",
      example: asked(`${mixCase(`ns.dns.${zone}`)} A`, "NXDOMAIN", "NODATA"),
      applies: (pair) =>
        isLabel(pair, "ns", "dns") &&
        !isType(pair, "SOA", "TXT") &&
        (isType(pair, "PTR") || zoneOf(pair) !== zone),
      coredns: nxdomain("coredns"),
      ours: nodata("ours"),
    },
    {
      id: "outside",
      title: "A name out of zone",
      corednsSays: "SERVFAIL without another plugin.",
      weSay: "REFUSED with Extended DNS Error 20, or by `outsideZones`.",
      reason: "The server is not authoritative (RFC 8914 section 4.21).",
      example: asked("example.com A", "SERVFAIL", "REFUSED"),
      applies: ({ place }) => place.kind === "outside",
      coredns: exactly("coredns", () => ({ ...silence, rcode: "SERVFAIL" })),
      ours: refused("ours"),
    },
  ];
}
