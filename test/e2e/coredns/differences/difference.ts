import { nameExists, type Pair } from "../comparison/comparison.ts";
import {
  asSet,
  type Observed,
  type ObservedRecord,
  recordText,
  sameObserved,
  silence,
} from "../comparison/observed.ts";
import type { PodMode } from "../place.ts";

type Side = "coredns" | "ours";
export type Expect = (pair: Pair, side: Side) => boolean;

/** A way in which the gateway answers otherwise than CoreDNS 1.15, on purpose. */
export interface Difference {
  /** The question; no other difference has the same. */
  title: string;
  corednsSays: string;
  weSay: string;
  /** The reason, with its sections. */
  reason: string;
  /** A question of the comparison with both answers as `summarize` writes them. */
  example: ReturnType<typeof asked>;
  /** The questions whose answers may differ in this way. */
  where: (pair: Pair) => boolean;
  coredns: Expect;
  ours: Expect;
  /** Whether a cluster's own zone has it, too. */
  isShared?: true;
  /** The pods of the cluster whose name server gives the example; `disabled` by default. */
  mode?: PodMode;
}

/** An example of a difference, whose question is `<name> <type>`. */
export function asked(question: string, coredns: string, ours: string) {
  const [name, type] = question.split(" ") as [string, string];
  return { question: { name, type }, coredns, ours };
}

/** Every TTL of the fixture but that of `dns-version`. */
const TTL = 5;

function negative(rcode: "NOERROR" | "NXDOMAIN", soaOwner: string, soaZone = soaOwner): Observed {
  const zone = soaZone.toLowerCase();
  const data = `ns.dns.${zone} hostmaster.${zone} 7200 1800 86400 5`;
  return { ...silence, rcode, aa: true, authority: [{ owner: soaOwner, ttl: TTL, type: "SOA", data }] };
}

function positive(answer: Iterable<ObservedRecord>, additional: Iterable<ObservedRecord> = []): Observed {
  return { ...silence, rcode: "NOERROR", aa: true, answer: asSet(answer), additional: asSet(additional) };
}

/** The zone part of a name, in the case of the question. */
export function zoneOf({ question }: Pair): string {
  return question.name.split(".").slice(-2).join(".");
}

const exactly =
  (expected: (pair: Pair) => Observed): Expect =>
  (pair, side) =>
    sameObserved(pair[side], expected(pair));

/** One record at the name that is asked for. */
export const record = (type: string, data: (pair: Pair) => string, ttl = TTL): Expect =>
  exactly((pair) => positive([{ owner: pair.question.name, ttl, type, data: data(pair) }]));
export const nodata = exactly((pair) => negative("NOERROR", zoneOf(pair)));
export const nxdomain = exactly((pair) => negative("NXDOMAIN", zoneOf(pair)));
/** NODATA by the name itself, which is no zone; its SOA record for the type SOA. */
export const nodataAtName = exactly((pair) => {
  const [pointer] = pair.all.at(pair.question.name, "PTR")?.ours.answer ?? [];
  const none = negative("NOERROR", pair.question.name, pointer?.data.split(".").slice(-2).join("."));
  return isType(pair, "SOA") ? positive(none.authority) : none;
});
/** The question is refused without claiming authority. */
export const refused = exactly(() => ({ ...silence, rcode: "REFUSED" }));
export const servfail = exactly(() => ({ ...silence, rcode: "SERVFAIL" }));
export const silent = exactly(() => silence);
/** A positive answer with nothing in it that positive answers never have. */
export const records: Expect = (pair, side) => {
  const { answer, additional } = pair[side];
  const isSound = answer.length > 0 && [...answer, ...additional].every(({ ttl }) => ttl === TTL);
  return isSound && sameObserved(pair[side], positive(answer, additional));
};
export const either =
  (...expected: readonly Expect[]): Expect =>
  (pair, side) =>
    expected.some((one) => one(pair, side));
export const both =
  (...expected: readonly Expect[]): Expect =>
  (pair, side) =>
    expected.every((one) => one(pair, side));

const other = (side: Side): Side => (side === "ours" ? "coredns" : "ours");
const holds = (all: readonly ObservedRecord[], some: readonly ObservedRecord[]) => {
  const texts = new Set(all.map(recordText));
  return some.every((one) => texts.has(recordText(one)));
};
/** At least the records of the other side's answer section. */
export const atLeast: Expect = (pair, side) => holds(pair[side].answer, pair[other(side)].answer);
/** The records of the other side's answer section and more. */
export const more: Expect = (pair, side) =>
  atLeast(pair, side) && pair[side].answer.length > pair[other(side)].answer.length;
/** Nothing that the other side has not in the same section. */
export const part: Expect = (pair, side) =>
  atLeast(pair, other(side)) && holds(pair[other(side)].additional, pair[side].additional);
/** The other side's answer section, with more addresses beside it. */
export const moreAdditional: Expect = (pair, side) => {
  const [own, others] = [pair[side].additional, pair[other(side)].additional];
  const isSame = atLeast(pair, side) && atLeast(pair, other(side));
  return isSame && own.length > others.length && holds(own, others);
};

export function isType({ question }: Pair, ...types: string[]): boolean {
  return types.includes(question.type);
}

/** Whether one side says that the name exists when it is asked for an address. */
export function hasName(side: Side, { question, all }: Pair): boolean {
  const addresses = all.at(question.name, "A");
  return addresses !== undefined && nameExists(addresses[side]);
}

/** Whether the gateway has records at the name, which an ANY question gets RFC 8482's answer for. */
export function hasRecordsHere({ question, all }: Pair): boolean {
  const types = ["A", "AAAA", "SRV", "TXT", "SOA", "PTR"];
  return types.some((type) => (all.at(question.name, type)?.ours.answer.length ?? 0) > 0);
}

/** A name that only CoreDNS has. */
export function onlyInCoreDns(
  where: (pair: Pair) => boolean,
): Pick<Difference, "where" | "coredns" | "ours"> {
  return {
    where: (pair) => where(pair) && hasName("coredns", pair),
    coredns: either(silent, nodata, records),
    ours: nxdomain,
  };
}

/** A name that CoreDNS lacks; ANY is RFC 8482's. */
export function onlyHere(where: (pair: Pair) => boolean): Pick<Difference, "where" | "coredns"> {
  return {
    where: (pair) =>
      where(pair) && !hasName("coredns", pair) && !(isType(pair, "ANY") && hasRecordsHere(pair)),
    coredns: nxdomain,
  };
}

/** An answer in short: its code unless that is NOERROR with records, then the records, without an SOA. */
export function summarize({ rcode, answer, additional }: Observed, { name }: Pair["question"]): string {
  if (answer.length === 0) return rcode === "NOERROR" ? "NODATA" : rcode;
  const show = ({ owner, type, data }: ObservedRecord) =>
    owner === name ? `${type} ${data}` : `${owner} ${type} ${data}`;
  const code = rcode === "NOERROR" ? [] : [rcode];
  return [...code, ...answer.map(show), ...additional.map((one) => `  with ${show(one)}`)].join("\n");
}
