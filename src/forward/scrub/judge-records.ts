import { RecordType } from "../../dns/codes.ts";
import { readWord } from "../../dns/wire-reader.ts";
import { findAddresses } from "../private-addresses.ts";
import type { Chain } from "./chain.ts";
import { hasReadableNames } from "./record-copier.ts";
import type { Entry } from "./record-entries.ts";
import type { ScrubRules } from "./scrub-rules.ts";
import { isWithin, readWireName } from "./wire-name.ts";

/** The reason why a record is removed: it does not belong to the question, is about one of the gateway's zones, or has a private address. */
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
export function judgeRecords(
  bytes: Uint8Array,
  entries: readonly Entry[],
  chain: Chain,
  rules: ScrubRules,
): (DropReason | undefined)[] {
  const zones = enclosingZones(bytes, entries, chain);
  const isSignature = ({ place }: Entry) =>
    place.type === RecordType.RRSIG && chain.asked.type !== RecordType.RRSIG;
  const reasons = entries.map((entry) =>
    isSignature(entry) ? undefined : judge(bytes, entry, chain, zones, rules),
  );
  // A signature stays with its RRset. The signature of an RRset that lost a record is useless.
  const kept = new Set<string>();
  for (const [index, entry] of entries.entries())
    if (!isSignature(entry) && reasons[index] === undefined) kept.add(setOf(entry, entry.place.type));
  for (const [index, entry] of entries.entries())
    if (!isSignature(entry) && reasons[index] !== undefined) kept.delete(setOf(entry, entry.place.type));
  return entries.map((entry, index) => {
    if (!isSignature(entry)) return reasons[index];
    const covered = readWord(bytes, entry.place.dataStart);
    const isSound = entry.place.class === chain.asked.class && hasReadableNames(bytes, entry.place);
    return isSound && kept.has(setOf(entry, covered)) ? undefined : "unrelated";
  });
}

function judge(
  bytes: Uint8Array,
  entry: Entry,
  chain: Chain,
  zones: readonly string[],
  rules: ScrubRules,
): DropReason | undefined {
  const { section, owner, place } = entry;
  const { asked, last, names, aliases, leadsHome } = chain;
  if (rules.isOurs(owner.folded)) return "own-zone";
  if (place.class !== asked.class || !hasReadableNames(bytes, place)) return "unrelated";
  if (section === 1) {
    const isDenial = DENIALS.has(place.type) && zones.some((zone) => isWithin(owner.key, zone));
    return isDenial && (place.type !== RecordType.SOA || zones.includes(owner.key)) ? undefined : "unrelated";
  }
  if (aliases.has(entry)) return undefined;
  if (place.type === RecordType.DNAME && isAbove(owner.key, names)) {
    return rules.isOurs(readWireName(bytes, place.dataStart)!.folded) ? "own-zone" : undefined;
  }
  if (leadsHome || owner.key !== last.key) return "unrelated";
  if (place.type !== asked.type && asked.type !== RecordType.ANY) return "unrelated";
  const addresses = findAddresses(bytes, place);
  if (addresses === undefined) return "unrelated";
  if (rules.isTrusted(asked.name.key)) return undefined;
  const targetAt = TARGET_AT.get(place.type);
  if (targetAt !== undefined && rules.isOurs(readWireName(bytes, place.dataStart + targetAt)!.folded))
    return "own-zone";
  return addresses.some(rules.isPrivate) ? "private-address" : undefined;
}

/** The zones of the chain's names, as far as the authority section names them: by an SOA record, or as signers. */
function enclosingZones(bytes: Uint8Array, entries: readonly Entry[], { names }: Chain): string[] {
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
