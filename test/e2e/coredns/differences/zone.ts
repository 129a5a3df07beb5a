import type { Pair } from "../comparison/comparison.ts";
import { silence } from "../comparison/observed.ts";
import type { NamePlace } from "../place.ts";
import { mixCase } from "../questions.ts";
import {
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
  /** The version of its schema. */
  version: string;
}

const isInZone = ({ place }: Pair<NamePlace>) => place.kind !== "outside" && place.kind !== "reverse";
const isLabel = ({ place }: Pair<NamePlace>, ...labels: string[]) =>
  place.kind === "zone" && place.labels.join(".") === labels.join(".");

/** Differences that have to do with a zone as a whole and with the type that is asked for. */
export function zoneDifferences(served: ServedZone): Difference<NamePlace>[] {
  const { zone, version } = served;
  return [
    {
      id: "txt-denies-name",
      example: {
        question: { name: `shop.svc.${zone}`, type: "TXT" },
        coredns: "NXDOMAIN",
        ours: "NODATA",
      },
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
      example: {
        question: { name: `nothing.${zone}`, type: "SOA" },
        coredns: "NODATA",
        ours: "NXDOMAIN",
      },
      applies: (pair) =>
        isInZone(pair) && isType(pair, "SOA") && !hasName("coredns", pair) && !hasName("ours", pair),
      coredns: nodata("coredns"),
      ours: nxdomain("ours"),
    },
    {
      id: "any",
      example: {
        question: { name: `web.shop.svc.${zone}`, type: "ANY" },
        coredns: "NODATA",
        ours: `web.shop.svc.${zone} HINFO {"cpu":"RFC8482","os":""}`,
      },
      applies: (pair) => isType(pair, "ANY") && hasRecordsHere(pair),
      coredns: (pair) => nodata("coredns")(pair) || nxdomain("coredns")(pair),
      ours: exactly("ours", (pair) => positive([recordAt(pair, "HINFO", '{"cpu":"RFC8482","os":""}')])),
    },
    {
      id: "empty-non-terminal",
      example: {
        question: { name: `_tcp.web.shop.svc.${zone}`, type: "SRV" },
        coredns: "NXDOMAIN",
        ours: "NODATA",
      },
      ...onlyHere(
        (pair) => isInZone(pair) && !hasRecordsHere(pair) && pair.all.isAboveSharedName(pair.question.name),
      ),
      ours: nodata("ours"),
    },
    {
      id: "nothing-below",
      example: {
        question: { name: `bare.svc.${zone}`, type: "A" },
        coredns: "NODATA",
        ours: "NXDOMAIN",
      },
      ...onlyInCoreDns(
        (pair) =>
          (pair.place.kind === "namespace" || isLabel(pair, "pod")) &&
          !pair.all.isAboveSharedName(pair.question.name),
      ),
    },
    {
      id: "version-name",
      example: {
        question: { name: `dns-version.${zone}`, type: "A" },
        coredns: "NXDOMAIN",
        ours: "NODATA",
      },
      ...onlyHere((pair) => isLabel(pair, "dns-version") && !isType(pair, "TXT")),
      ours: nodata("ours"),
    },
    {
      id: "version",
      example: {
        question: { name: `dns-version.${zone}`, type: "TXT" },
        coredns: `dns-version.${zone} TXT "1.1.0"`,
        ours: `dns-version.${zone} TXT "${version}"`,
      },
      applies: (pair) => isLabel(pair, "dns-version") && isType(pair, "TXT"),
      coredns: exactly("coredns", (pair) => positive([{ ...recordAt(pair, "TXT", '"1.1.0"'), ttl: 28800 }])),
      ours: exactly("ours", (pair) => positive([{ ...recordAt(pair, "TXT", `"${version}"`), ttl: 28800 }])),
    },
    {
      id: "apex-ns",
      example: {
        question: { name: zone, type: "NS" },
        coredns: "NODATA",
        ours: `${zone} NS ns.dns.${zone}`,
      },
      applies: (pair) => isLabel(pair) && isType(pair, "NS"),
      coredns: nodata("coredns"),
      ours: exactly("ours", (pair) => positive([recordAt(pair, "NS", `ns.dns.${zone}`)])),
    },
    {
      id: "name-server-name",
      example: {
        question: { name: mixCase(`ns.dns.${zone}`), type: "A" },
        coredns: "NXDOMAIN",
        ours: "NODATA",
      },
      applies: (pair) =>
        isLabel(pair, "ns", "dns") &&
        !isType(pair, "SOA", "TXT") &&
        (isType(pair, "PTR") || zoneOf(pair) !== zone),
      coredns: nxdomain("coredns"),
      ours: nodata("ours"),
    },
    {
      id: "outside",
      example: {
        question: { name: "example.com", type: "A" },
        coredns: "SERVFAIL",
        ours: "REFUSED",
      },
      applies: ({ place }) => place.kind === "outside",
      coredns: exactly("coredns", () => ({ ...silence, rcode: "SERVFAIL" })),
      ours: refused("ours"),
    },
  ];
}
