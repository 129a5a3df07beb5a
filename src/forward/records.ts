import {
  type FoldedName,
  HEADER_BYTES,
  MAX_NAME_BYTES,
  nameKey,
  type RecordPlace,
  RecordType,
  readFoldedName,
  readName,
  readRecord,
} from "../dns/name.ts";
import { beginAnswer, MAX_MESSAGE_BYTES, type MessageWriter } from "../resolve/message-writer.ts";
import { OPT_BYTES, type UpstreamAnswer } from "./upstream.ts";

/**
 * The names in the data of types that a sender may compress (RFC 1035 section 4.1.4, RFC 3597 section 4), or
 * that a faulty sender compresses anyway: the number of bytes before them, the number of names, and that of
 * the bytes after the last one, where it is fixed (RFC 1035 section 3.3, RFC 2782, RFC 6672 section 2.1).
 */
const NAMES_IN_DATA = new Map<number, readonly [before: number, names: number, after?: number]>([
  [RecordType.NS, [0, 1, 0]],
  [3, [0, 1]],
  [4, [0, 1]],
  [RecordType.CNAME, [0, 1, 0]],
  [RecordType.SOA, [0, 2, 20]],
  [7, [0, 1]],
  [8, [0, 1]],
  [9, [0, 1]],
  [RecordType.PTR, [0, 1, 0]],
  [14, [0, 2]],
  [15, [2, 1, 0]],
  [17, [0, 2]],
  [18, [2, 1]],
  [21, [2, 1]],
  [26, [2, 2]],
  [RecordType.SRV, [6, 1, 0]],
  [36, [2, 1]],
  [RecordType.DNAME, [0, 1, 0]],
  [RecordType.RRSIG, [18, 1]],
  [RecordType.NSEC, [0, 1]],
  [RecordType.SVCB, [2, 1]],
  [RecordType.HTTPS, [2, 1]],
]);

const FIXED_BYTES = 10;
/** The largest offset of a compression pointer (RFC 1035 section 4.1.4). */
const FURTHEST_POINTER = 0x3fff;

/** Whether the names in the data of a record are complete and inside it. */
export function hasReadableNames(message: Uint8Array, { type, dataStart, end }: RecordPlace): boolean {
  const [before, names, after] = NAMES_IN_DATA.get(type) ?? [0, 0, undefined];
  let position = dataStart + before;
  for (let left = names; left > 0; left--) {
    position = position < end ? readName(message, position) : -1;
    if (position < 0 || position > end) return false;
  }
  return position + (after ?? end - position) === end && position <= end;
}

/**
 * Copies a record of another message. Its compression pointers may point into what is not copied: names are
 * written out, but for owners that were written before.
 * @param owners offsets of owner names in the new message @returns false if the record is malformed, or does
 * not fit
 */
export function copyRecord(
  writer: MessageWriter,
  source: Uint8Array,
  { start, dataStart, type, end }: RecordPlace,
  owners: Map<string, number>,
): boolean {
  const owner = readWireName(source, start);
  if (owner === undefined) return false;
  const known = owners.get(owner.key);
  if (known !== undefined && owner.key.length > 1) writer.write16(0xc000 | known);
  else {
    if (writer.position <= FURTHEST_POINTER) owners.set(owner.key, writer.position);
    writer.writeBytes(expandedName, 0, owner.key.length);
  }
  writer.writeBytes(source, dataStart - FIXED_BYTES, dataStart);
  const dataAt = writer.position;
  const [before, names] = NAMES_IN_DATA.get(type) ?? [0, 0];
  let position = dataStart + before;
  if (position > end) return false;
  writer.writeBytes(source, dataStart, position);
  for (let left = names; left > 0; left--) {
    const next = position < end ? readName(source, position, expandedName) : -1;
    if (next < 0 || next > end) return false;
    writer.writeBytes(expandedName, 0, readName(expandedName, 0));
    position = next;
  }
  writer.writeBytes(source, position, end);
  const length = writer.position - dataAt;
  writer.bytes[dataAt - 2] = length >>> 8;
  writer.bytes[dataAt - 1] = length;
  return writer.position <= MAX_MESSAGE_BYTES - OPT_BYTES;
}

/** A record of the answer section (0) or the authority section (1). */
export interface Entry {
  readonly section: 0 | 1;
  readonly owner: WireName;
  readonly place: RecordPlace;
}

/** The records of both sections, in their order. */
export function readEntries(
  { bytes, answers, authorities }: Pick<UpstreamAnswer, "bytes" | "answers" | "authorities">,
  start: number,
): Entry[] {
  const entries: Entry[] = [];
  let position = start;
  for (let index = 0; index < answers + authorities; index++) {
    const place = readRecord(bytes, position)!;
    position = place.end;
    entries.push({ section: index < answers ? 0 : 1, owner: readWireName(bytes, place.start)!, place });
  }
  return entries;
}

/** A name of a message. */
export interface WireName {
  readonly folded: FoldedName;
  /** Its `nameKey`: the wire form with letters in lower case, one character per byte. */
  readonly key: string;
  /** The offset after it in the message. */
  readonly end: number;
}

/** The current name, uncompressed. The buffer is reused, since reading a name is synchronous. */
const expandedName = new Uint8Array(MAX_NAME_BYTES);

/** Reads a possibly compressed name; undefined if it is malformed or cut off. */
export function readWireName(message: Uint8Array, start: number): WireName | undefined {
  const end = readName(message, start, expandedName);
  const folded = end < 0 ? undefined : readFoldedName(expandedName, 0);
  return folded && { folded, key: nameKey(folded), end };
}

/**
 * As many CNAMEs as the most patient resolvers follow. Without a limit an answer of 64 KB would cost a
 * second.
 */
const MOST_CNAMES = 16;

/**
 * The CNAME records of a chain and their targets (RFC 1034 section 3.6.2), in any order in the message; of
 * several at one name the first counts. Ends before a loop, and after 16 records.
 */
export function* followCnames(
  bytes: Uint8Array,
  entries: readonly Entry[],
  first: WireName,
): Generator<[alias: Entry, target: WireName]> {
  const aliases = new Map<string, Entry>();
  for (const entry of entries)
    if (entry.place.type === RecordType.CNAME && !aliases.has(entry.owner.key))
      aliases.set(entry.owner.key, entry);
  const names = new Set([first.key]);
  for (let alias = aliases.get(first.key); alias !== undefined && names.size <= MOST_CNAMES; ) {
    const target = readWireName(bytes, alias.place.dataStart);
    if (target?.end !== alias.place.end || names.has(target.key)) return;
    yield [alias, target];
    names.add(target.key);
    alias = aliases.get(target.key);
  }
}

/** Whether a name is at or below a zone's name. Both are keys. */
export function isWithin(name: string, zone: string): boolean {
  let at = 0;
  while (name.length - at > zone.length) at += name.charCodeAt(at) + 1;
  return name.length - at === zone.length && name.slice(at) === zone;
}

/**
 * An answer with these of its records, in this order, and no additional section. Undefined if they do not fit
 * into a message.
 */
export function rebuild(
  given: UpstreamAnswer,
  question: WireName,
  kept: readonly Entry[],
): UpstreamAnswer | undefined {
  const query = { id: 0, flags: 0, questionEnd: question.end + 4, edns: undefined };
  const writer = beginAnswer(given.bytes, query);
  const owners = new Map([[question.key, HEADER_BYTES]]);
  if (!kept.every(({ place }) => copyRecord(writer, given.bytes, place, owners))) return undefined;
  const answers = kept.filter(({ section }) => section === 0).length;
  const authorities = kept.length - answers;
  [writer.answers, writer.authorities] = [answers, authorities];
  const bytes = writer.finish(given.rcode, given.authoritative);
  return { ...given, bytes, recordsEnd: bytes.length, answers, authorities, additionals: 0 };
}
