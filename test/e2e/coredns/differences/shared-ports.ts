import type { Pair } from "../comparison/comparison.ts";
import { asSet, type ObservedRecord, recordText, sameRecords } from "../comparison/observed.ts";
import type { NamePlace } from "../place.ts";
import type { Port } from "../worlds/services.ts";
import {
  answersOf,
  type Difference,
  exactly,
  isType,
  nodata,
  onlyInCoreDns,
  positive,
} from "./difference.ts";
import { isUnnamed, portLabels } from "./service-facts.ts";
import { additionalsFor } from "./srv.ts";

/** What a zone has to do with ports. */
interface PortFacts<Where extends NamePlace> {
  isHeadless: (pair: Pair<Where>) => boolean;
  /** Whether the service publishes endpoints that are not ready. */
  isEager: (pair: Pair<Where>) => boolean;
  isPortName: (pair: Pair<Where>) => boolean;
  /** Whether CoreDNS finds a port of the service at the name. */
  isPortToCoreDns: (pair: Pair<Where>) => boolean;
  isEndpointName: (pair: Pair<Where>) => boolean;
  /** Whether a port can have an SRV record at a name of its own. */
  isServable: (port: Port) => boolean;
  portsOf: (pair: Pair<Where>) => Port[];
  /** The ports that the name means. */
  portsMeant: (pair: Pair<Where>) => Port[];
  /**
   * The addresses that CoreDNS adds to SRV records: those of the endpoints with the ports that are asked for.
   */
  additionalsByPort: (pair: Pair<Where>) => ObservedRecord[];
  /** Types that CoreDNS answers with addresses, or with their CNAME. */
  addressTypes: string[];
}

type Texts<Field extends keyof Difference> = Pick<Difference, Field>;

/** How the differences read in a zone. */
interface PortTexts {
  specification: "MCS" | "DNS";
  addressesAtPortName: Texts<"example">;
  laxPortNames: Texts<"id" | "title" | "example">;
  unnamedPorts: Texts<"example">;
  oddPorts: Texts<"corednsSays" | "reason" | "example">;
  oddPortNames: Texts<"example">;
  srvAtEndpoint: Texts<"title" | "example">;
  wholeRrsets: Texts<"example">;
}

/** Whether the question is for the SRV records of a service's bare name. */
export function isServiceSrv(pair: Pair<NamePlace>): boolean {
  return pair.place.kind === "service" && isType(pair, "SRV");
}

/** Whether CoreDNS answers with all that we have, and more. */
export function withMore({ coredns, ours }: Pair<NamePlace>): boolean {
  const texts = new Set(coredns.answer.map(recordText));
  return texts.size > ours.answer.length && ours.answer.every((one) => texts.has(recordText(one)));
}

/**
 * Differences of any zone that have to do with ports and SRV records.
 * @param own those that the zone alone has
 */
export function portDifferencesOf<Where extends NamePlace>(
  facts: PortFacts<Where>,
  texts: PortTexts,
  own: Difference<Where>[] = [],
): Difference<Where>[] {
  const { isHeadless, isPortName, isEndpointName, isServable, portsOf, portsMeant, additionalsByPort } =
    facts;
  const { specification } = texts;
  const isNamedInVain = (port: Port) => !isUnnamed(port) && !isServable(port);

  /**
   * The SRV records that a service's bare name should have: those that CoreDNS has at the names of the ports.
   */
  const servableAtService = (pair: Pair<Where>): ObservedRecord[] => {
    const { name } = pair.question;
    const labels = portsOf(pair).filter(isServable).map(portLabels);
    return asSet(
      labels.flatMap((port) => answersOf(pair.all, "coredns", `${port}.${name.toLowerCase()}`, "SRV", name)),
    );
  };
  const lacksPorts = (pair: Pair<Where>, why: (port: Port) => boolean) =>
    isServiceSrv(pair) &&
    portsOf(pair).some(why) &&
    !sameRecords(servableAtService(pair), pair.coredns.answer);
  /**
   * Expects every record with a port that has a name of its own, and the targets' addresses; NODATA if there
   * is none.
   */
  const servablePorts = (pair: Pair<Where>) => {
    const answer = servableAtService(pair);
    return answer.length === 0
      ? nodata("ours")(pair)
      : exactly<Where>("ours", () => positive(answer, additionalsFor(pair, answer)))(pair);
  };

  return [
    {
      ...texts.addressesAtPortName,
      id: "addresses-at-port-name",
      title: "A and AAAA at `_<port>._<protocol>.<service>`",
      corednsSays: "The addresses.",
      weSay: "NODATA.",
      reason: `These names have SRV only (${specification} 2.3.2, 2.4.2, RFC 2782).`,
      applies: (pair) =>
        isPortName(pair) &&
        isType(pair, ...facts.addressTypes) &&
        pair.coredns.answer.length > 0 &&
        portsMeant(pair).some(isServable),
      coredns: (pair) => {
        const { question, place, all, coredns } = pair;
        const service = question.name.split(".").slice(place.left.length).join(".");
        const ofService = answersOf(all, "coredns", service, question.type, question.name).map(recordText);
        return coredns.answer.every((record) => ofService.includes(recordText(record)));
      },
      ours: nodata("ours"),
    },
    {
      ...texts.laxPortNames,
      corednsSays: "Those of `_<port>._<protocol>`; `_` is a wildcard.",
      weSay: "NXDOMAIN.",
      reason: `There are no wildcards (${specification} 2.3.2, 2.4.2, RFC 2782).`,
      ...onlyInCoreDns((pair: Pair<Where>) => !isPortName(pair) && facts.isPortToCoreDns(pair)),
    },
    {
      ...texts.unnamedPorts,
      id: "unnamed-ports",
      title: "SRV at `<service>` with a port without a name",
      corednsSays: "All ports.",
      weSay: "The named ones.",
      reason: `"Unnamed ports do not have an SRV record" (${specification} 2.3.2, 2.4.2).`,
      applies: (pair) => lacksPorts(pair, isUnnamed),
      coredns: withMore,
      ours: servablePorts,
    },
    {
      ...texts.oddPorts,
      id: "odd-ports",
      title: "SRV at `<service>` with a port that cannot have a record",
      weSay: "The possible ones, and findings.",
      applies: (pair) => lacksPorts(pair, isNamedInVain),
      coredns: withMore,
      ours: servablePorts,
    },
    {
      ...texts.oddPortNames,
      id: "odd-port-names",
      title: "`_<port>._<protocol>.<service>` of a port that cannot have a record",
      corednsSays: "The name exists.",
      weSay: "NXDOMAIN.",
      reason: "As above.",
      ...onlyInCoreDns((pair: Pair<Where>) => isPortName(pair) && portsMeant(pair).some(isNamedInVain)),
    },
    ...own,
    {
      ...texts.srvAtEndpoint,
      id: "srv-at-endpoint",
      corednsSays: "Each port, the name itself as the target.",
      weSay: "NODATA.",
      reason: `${specification} 2.4.1, 2.4.2.`,
      applies: (pair) =>
        isHeadless(pair) && isEndpointName(pair) && isType(pair, "SRV") && pair.coredns.answer.length > 0,
      coredns: ({ coredns, question }) =>
        coredns.answer.every(({ data }) => data.split(" ")[2] === question.name.toLowerCase()),
      ours: nodata("ours"),
    },
    {
      ...texts.wholeRrsets,
      id: "whole-rrsets",
      title: "Additional addresses where endpoints of a hostname differ in ports",
      corednsSays: "Those with the port.",
      weSay: "All addresses of the target.",
      reason: "An RRset is complete or absent (RFC 2181 section 5).",
      applies: (pair) =>
        isType(pair, "SRV") &&
        isHeadless(pair) &&
        !facts.isEager(pair) &&
        (isPortName(pair) ||
          (isServiceSrv(pair) && sameRecords(servableAtService(pair), pair.coredns.answer))) &&
        additionalsFor(pair, pair.coredns.answer).length > additionalsByPort(pair).length,
      coredns: exactly<Where>("coredns", (pair) => positive(pair.coredns.answer, additionalsByPort(pair))),
      ours: exactly<Where>("ours", (pair) =>
        positive(pair.coredns.answer, additionalsFor(pair, pair.coredns.answer)),
      ),
    },
  ];
}
