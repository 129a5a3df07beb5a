import { type Evidence, nameExists, type Pair } from "../comparison/comparison.ts";
import { asSet, type Observed, type ObservedRecord, sameObserved, silence } from "../comparison/observed.ts";
import type { NamePlace, Place } from "../place.ts";

/** A way in which the gateway answers otherwise than CoreDNS 1.15, on purpose. */
export interface Difference<Where extends NamePlace = Place> {
  id: string;
  /** The question. */
  title: string;
  corednsSays: string;
  weSay: string;
  /** The reason, with its sections. */
  reason: string;
  /** A question of the comparison with both answers as `summarize` writes them. */
  example: ReturnType<typeof asked>;
  /** Whether the two answers must differ in this way. */
  applies: (pair: Pair<Where>) => boolean;
  /** Whether CoreDNS answers as expected where it applies. */
  coredns: (pair: Pair<Where>) => boolean;
  /** Whether the gateway answers as expected where it applies. */
  ours: (pair: Pair<Where>) => boolean;
}

/** An example of a difference, whose question is `<name> <type>`. */
export function asked(question: string, coredns: string, ours: string) {
  const [name, type] = question.split(" ") as [string, string];
  return { question: { name, type }, coredns, ours };
}

type Side = "coredns" | "ours";

/** Every TTL of the fixture but that of `dns-version`. */
export const ttl = 5;

/** A negative answer with the SOA of the zone that both of them serve. */
export function negative(rcode: "NOERROR" | "NXDOMAIN", soaOwner: string, soaZone = soaOwner): Observed {
  const zone = soaZone.toLowerCase();
  const data = `ns.dns.${zone} hostmaster.${zone} 7200 1800 86400 5`;
  return { ...silence, rcode, aa: true, authority: [{ owner: soaOwner, ttl, type: "SOA", data }] };
}

/** A positive answer. */
export function positive(
  answer: Iterable<ObservedRecord>,
  additional: Iterable<ObservedRecord> = [],
): Observed {
  return { ...silence, rcode: "NOERROR", aa: true, answer: asSet(answer), additional: asSet(additional) };
}

/** A record at the name that is asked for. */
export function recordAt({ question }: Pair<NamePlace>, type: string, data: string): ObservedRecord {
  return { owner: question.name, ttl, type, data };
}

/** The zone part of a name below `clusterset.local` or a reverse zone, in the case of the question. */
export function zoneOf({ question }: Pair<NamePlace>): string {
  return question.name.split(".").slice(-2).join(".");
}

/** An expectation of one side: exactly this answer. */
export function exactly<Where extends NamePlace = Place>(
  side: Side,
  expected: (pair: Pair<Where>) => Observed,
): (pair: Pair<Where>) => boolean {
  return (pair) => sameObserved(pair[side], expected(pair));
}

/** An expectation of one side: the name exists, without a record of the type. */
export const nodata = (side: Side) => exactly<NamePlace>(side, (pair) => negative("NOERROR", zoneOf(pair)));

/** An expectation of one side: the name does not exist. */
export const nxdomain = (side: Side) =>
  exactly<NamePlace>(side, (pair) => negative("NXDOMAIN", zoneOf(pair)));

/** An expectation of one side: the question is refused without claiming authority. */
export const refused = (side: Side) => exactly<NamePlace>(side, () => ({ ...silence, rcode: "REFUSED" }));

/** An expectation of CoreDNS: no answer is sent at all. */
export const silent = exactly<NamePlace>("coredns", () => silence);

/** Whether the question is of one of these types. */
export function isType({ question }: Pair<NamePlace>, ...types: string[]): boolean {
  return types.includes(question.type);
}

/** Whether one side says that the name exists when it is asked for an address. */
export function hasName(side: Side, { question, all }: Pair<NamePlace>): boolean {
  const asked = all.at(question.name, "A");
  return asked !== undefined && nameExists(asked[side]);
}

/** What one side answers to another question of the same comparison, with the owner that is given. */
export function answersOf(
  all: Evidence<NamePlace>,
  side: Side,
  name: string,
  type: string,
  owner: string,
): ObservedRecord[] {
  const { answer = [] } = all.at(name, type)?.[side] ?? {};
  return answer.map((record) =>
    record.owner.toLowerCase() === name.toLowerCase() ? { ...record, owner } : record,
  );
}

/** Whether an answer is positive and has nothing in it that CoreDNS's positive answers never have. */
function hasSoundRecords(observed: Observed): boolean {
  const { answer, additional } = observed;
  const isSound = answer.length > 0 && [...answer, ...additional].every((record) => record.ttl === ttl);
  return isSound && sameObserved(observed, positive(answer, additional));
}

/** Whether the gateway has records at the name, which an ANY question gets RFC 8482's answer for. */
export function hasRecordsHere({ question, all }: Pair<NamePlace>): boolean {
  return ["A", "AAAA", "SRV", "TXT", "SOA", "PTR"].some(
    (type) => (all.at(question.name, type)?.ours.answer.length ?? 0) > 0,
  );
}

/** Applies where CoreDNS has a name that does not exist, for every type that CoreDNS does not deny it for. */
export function onlyInCoreDns<Where extends NamePlace = Place>(
  where: (pair: Pair<Where>) => boolean,
): Pick<Difference<Where>, "applies" | "coredns" | "ours"> {
  return {
    applies: (pair) => where(pair) && hasName("coredns", pair) && pair.coredns.rcode !== "NXDOMAIN",
    coredns: (pair) => silent(pair) || nodata("coredns")(pair) || hasSoundRecords(pair.coredns),
    ours: nxdomain("ours"),
  };
}

/** Applies where CoreDNS lacks a name; for the type SOA it never says so, and ANY is RFC 8482's. */
export function onlyHere<Where extends NamePlace = Place>(
  where: (pair: Pair<Where>) => boolean,
): Pick<Difference<Where>, "applies" | "coredns"> {
  return {
    applies: (pair) =>
      where(pair) &&
      !hasName("coredns", pair) &&
      !isType(pair, "SOA") &&
      !(isType(pair, "ANY") && hasRecordsHere(pair)),
    coredns: nxdomain("coredns"),
  };
}

/**
 * An answer in short: its code unless that is NOERROR with records, then the records; negative answers
 * without their SOA.
 */
export function summarize({ rcode, answer, additional }: Observed): string {
  if (answer.length === 0) return rcode === "NOERROR" ? "NODATA" : rcode;
  const show = ({ owner, type, data }: ObservedRecord) => `${owner} ${type} ${data}`;
  const code = rcode === "NOERROR" ? [] : [rcode];
  return [...code, ...answer.map(show), ...additional.map((record) => `  with ${show(record)}`)].join("\n");
}
