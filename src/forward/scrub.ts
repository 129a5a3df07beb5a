import {
  ExtendedError,
  type FoldedName,
  HEADER_BYTES,
  RecordType,
  ResponseCode,
  readWord,
} from "../dns/name.ts";
import { Tally } from "../limits/counters.ts";
import { findAddresses } from "./private-addresses.ts";
import {
  type Entry,
  followCnames,
  hasReadableNames,
  isWithin,
  readEntries,
  readWireName,
  rebuild,
  type WireName,
} from "./records.ts";
import type { UpstreamAnswer } from "./upstream.ts";

/** The rest of an answer, and the number of removed records. */
interface Scrubbed {
  readonly answer: UpstreamAnswer;
  readonly dropped: ReadonlyMap<DropReason, number>;
}

/**
 * Removes the records that do not belong to the question, or that a name server has no authority for (RFC
 * 2181 section 5.4.1, RFC 5452 section 6):
 *
 * - in the answer section: all but the CNAME chain from the question's name to the records of its type, with
 *   their signatures;
 * - a chain with a target in one of the gateway's zones: such an answer has no records at all;
 * - private addresses, also those in SVCB hints;
 * - in the authority section: all but what a denial needs (SOA, NSEC, NSEC3), from zones that the chain is
 *   in;
 * - the additional section.
 *
 * If no record of the question's type is left, the answer is empty, with Extended DNS Error 15 (Blocked).
 * Undefined if the rest does not fit into a message.
 */
export function scrubAnswer(given: UpstreamAnswer, rules: ScrubRules): Scrubbed | undefined {
  const name = readWireName(given.bytes, HEADER_BYTES)!;
  const question = {
    name,
    type: readWord(given.bytes, name.end),
    class: readWord(given.bytes, name.end + 2),
  };
  const questionEnd = name.end + 4;
  const entries = readEntries(given, questionEnd);
  const chain = followChain(given.bytes, entries, question, rules);
  if (chain === undefined) return blocked(given, questionEnd, new Map([["own-zone", entries.length]]));
  const reasons = judgeRecords(chain);
  const dropped = new Tally<DropReason>();
  for (const reason of reasons) if (reason !== undefined) dropped.hit(reason);
  const isRefused = entries.some(
    ({ section }, index) => section === 0 && reasons[index] !== undefined && reasons[index] !== "unrelated",
  );
  if (
    isRefused &&
    !entries.some((entry, index) => reasons[index] === undefined && answersQuestion(entry, chain))
  )
    return blocked(given, questionEnd, dropped);
  const kept = inChainOrder(
    chain,
    entries.filter((_, index) => reasons[index] === undefined),
  );
  const recordsEnd = entries.at(-1)?.place.end ?? questionEnd;
  const asGiven = dropped.size === 0 ? { ...given, recordsEnd, additionals: 0 } : undefined;
  const isInOrder = asGiven !== undefined && kept.every((entry, index) => entry === entries[index]);
  const answer = isInOrder ? asGiven : (rebuild(given, name, kept) ?? asGiven);
  return answer && { answer, dropped };
}

/**
 * Records in the order in which a stub resolver reads them: each CNAME before what it leads to (RFC 1034
 * section 4.3.1), a DNAME before the CNAME that was made of it (RFC 6672 section 3.1). glibc finds no address
 * that comes before its CNAME.
 */
function inChainOrder({ bytes, names }: Chain, kept: readonly Entry[]): Entry[] {
  const chain = [...names];
  const rank = ({ section, owner, place }: Entry) => {
    if (section === 1) return Number.POSITIVE_INFINITY;
    const type = place.type === RecordType.RRSIG ? readWord(bytes, place.dataStart) : place.type;
    return type === RecordType.DNAME
      ? 2 * chain.findIndex((name) => isWithin(name, owner.key))
      : 2 * chain.indexOf(owner.key) + 1;
  };
  const ranked = kept.map((entry) => ({ entry, rank: rank(entry) }));
  // Infinity minus Infinity is NaN.
  return ranked.sort((one, other) => one.rank - other.rank || 0).map(({ entry }) => entry);
}

function answersQuestion({ section, owner, place }: Entry, { last, question }: Chain): boolean {
  const isType =
    place.type === question.type || (question.type === RecordType.ANY && place.type !== RecordType.RRSIG);
  return section === 0 && isType && owner.key === last.key;
}

function blocked(
  given: UpstreamAnswer,
  questionEnd: number,
  dropped: ReadonlyMap<DropReason, number>,
): Scrubbed {
  return {
    answer: {
      ...given,
      recordsEnd: questionEnd,
      answers: 0,
      authorities: 0,
      additionals: 0,
      rcode: ResponseCode.NOERROR,
      truncated: false,
      extendedError: ExtendedError.BLOCKED,
    },
    dropped,
  };
}

/**
 * The reason why a record is removed: it does not belong to the question, is about one of the gateway's
 * zones, or has a private address.
 */
export type DropReason = "unrelated" | "own-zone" | "private-address";

/** The types of records in a denial (RFC 2308 section 2, RFC 4035 section 3.1.3, RFC 5155 section 7.2). */
const DENIALS: ReadonlySet<number> = new Set([RecordType.SOA, RecordType.NSEC, RecordType.NSEC3]);
/** Types whose data names another host for the same service, and the bytes before that name. */
const TARGET_AT: ReadonlyMap<number, number> = new Map([
  [RecordType.CNAME, 0],
  [RecordType.SVCB, 2],
  [RecordType.HTTPS, 2],
]);
/** Bytes of the data of an RRSIG record before the signer's name (RFC 4034 section 3.1). */
const SIGNER_AT = 18;

/** The reason why each record is removed; undefined for a record that stays. */
function judgeRecords(chain: Chain): (DropReason | undefined)[] {
  const { bytes, entries, question } = chain;
  const zones = enclosingZones(chain);
  const isSignature = ({ place }: Entry) =>
    place.type === RecordType.RRSIG && question.type !== RecordType.RRSIG;
  const reasons = entries.map((entry) => (isSignature(entry) ? undefined : judge(entry, chain, zones)));
  // A signature stays with its RRset. The signature of an RRset that lost a record is useless.
  const kept = new Set<string>();
  for (const [index, entry] of entries.entries())
    if (!isSignature(entry) && reasons[index] === undefined) kept.add(setOf(entry, entry.place.type));
  for (const [index, entry] of entries.entries())
    if (!isSignature(entry) && reasons[index] !== undefined) kept.delete(setOf(entry, entry.place.type));
  return entries.map((entry, index) => {
    if (!isSignature(entry)) return reasons[index];
    const covered = readWord(bytes, entry.place.dataStart);
    const isSound = entry.place.class === question.class && hasReadableNames(bytes, entry.place);
    return isSound && kept.has(setOf(entry, covered)) ? undefined : "unrelated";
  });
}

function judge(entry: Entry, chain: Chain, zones: readonly string[]): DropReason | undefined {
  const { section, owner, place } = entry;
  const { bytes, rules, question, last, names, aliases, isTrusted } = chain;
  if (rules.isOurs(owner.folded) && !(isTrusted && names.has(owner.key))) return "own-zone";
  if (place.class !== question.class || !hasReadableNames(bytes, place)) return "unrelated";
  if (section === 1) {
    const isDenial = DENIALS.has(place.type) && zones.some((zone) => isWithin(owner.key, zone));
    return isDenial && (place.type !== RecordType.SOA || zones.includes(owner.key)) ? undefined : "unrelated";
  }
  if (aliases.has(entry)) return undefined;
  if (place.type === RecordType.DNAME && isAbove(owner.key, names)) {
    return rules.isOurs(readWireName(bytes, place.dataStart)!.folded) ? "own-zone" : undefined;
  }
  if (owner.key !== last.key) return "unrelated";
  if (place.type !== question.type && question.type !== RecordType.ANY) return "unrelated";
  const addresses = findAddresses(bytes, place);
  if (addresses === undefined) return "unrelated";
  if (isTrusted) return undefined;
  const targetAt = TARGET_AT.get(place.type);
  if (targetAt !== undefined && rules.isOurs(readWireName(bytes, place.dataStart + targetAt)!.folded))
    return "own-zone";
  return addresses.some(rules.isPrivate) ? "private-address" : undefined;
}

/**
 * The zones of the chain's names, as far as the authority section names them: by an SOA record, or as
 * signers.
 */
function enclosingZones({ bytes, entries, names }: Chain): string[] {
  const zones = new Set<string>();
  for (const { section, owner, place } of entries) {
    if (section !== 1) continue;
    if (place.type === RecordType.SOA) zones.add(owner.key);
    if (place.type === RecordType.RRSIG) {
      const signer = readWireName(bytes, place.dataStart + SIGNER_AT);
      if (signer !== undefined && signer.end <= place.end) zones.add(signer.key);
    }
  }
  return [...zones].filter((zone) => [...names].some((name) => isWithin(name, zone)));
}

function isAbove(zone: string, names: ReadonlySet<string>): boolean {
  for (const name of names) if (name !== zone && isWithin(name, zone)) return true;
  return false;
}

function setOf({ section, owner }: Entry, type: number): string {
  return `${section} ${type} ${owner.key}`;
}

/** A question. */
interface Question {
  readonly name: WireName;
  readonly type: number;
  readonly class: number;
}

/** An answer with the names from the question's name along CNAME records (RFC 1034 section 3.6.2). */
interface Chain {
  readonly bytes: Uint8Array;
  readonly entries: readonly Entry[];
  readonly rules: ScrubRules;
  readonly question: Question;
  /** Keys of the names, the question's first. */
  readonly names: ReadonlySet<string>;
  /** The name that has the records of the question's type. */
  readonly last: WireName;
  /** The CNAME records that were followed. */
  readonly aliases: ReadonlySet<Entry>;
  /** Whether the question's name may have private addresses and targets in the gateway's zones. */
  readonly isTrusted: boolean;
}

/** Types that can exist beside a CNAME record. */
const NOT_FOLLOWED: ReadonlySet<number> = new Set([
  RecordType.CNAME,
  RecordType.RRSIG,
  RecordType.NSEC,
  RecordType.ANY,
]);

/**
 * The chain of an answer. Undefined if a target is in the gateway's zones, which the question's name is not
 * allowed to have.
 */
function followChain(
  bytes: Uint8Array,
  entries: readonly Entry[],
  question: Question,
  rules: ScrubRules,
): Chain | undefined {
  const names = new Set([question.name.key]);
  const aliases = new Set<Entry>();
  const isTrusted = rules.isTrusted(question.name.key);
  let last = question.name;
  const usable = NOT_FOLLOWED.has(question.type)
    ? []
    : entries.filter(({ section, place }) => section === 0 && place.class === question.class);
  for (const [alias, target] of followCnames(bytes, usable, question.name)) {
    if (rules.isOurs(target.folded) && !isTrusted) return undefined;
    aliases.add(alias);
    names.add(target.key);
    last = target;
  }
  return { bytes, entries, rules, question, names, last, aliases, isTrusted };
}

/** The records that a name server has no authority for. */
export interface ScrubRules {
  /**
   * Whether records about a name are rejected: it is in one of the gateway's zones, or is never forwarded.
   */
  readonly isOurs: (name: FoldedName) => boolean;
  /** Whether a public name may not have an address, which is 4 or 16 bytes. */
  readonly isPrivate: (address: Uint8Array) => boolean;
  /** Whether a name, as a key, may have private addresses and CNAME targets in the gateway's zones. */
  readonly isTrusted: (name: string) => boolean;
}
