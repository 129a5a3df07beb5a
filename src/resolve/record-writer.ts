import { type FoldedName, HEADER_BYTES, MAX_NAME_BYTES, RecordType, ResponseCode } from "../dns/name.ts";
import {
  ALL_CLUSTERS,
  findSet,
  fixedDataBytes,
  KEEP_ORDER,
  type Leased,
  type LeasedTtl,
  type Names,
  read16,
  recordCount,
  recordsOf,
  srvWeight,
  targetOf,
  type World,
  type Zone,
} from "../zone/world.ts";
import { SOA_TIMERS } from "../zone/zone-plan.ts";
import { type AnswerForm, MessageWriter, RECORD_HEADER_BYTES } from "./message-writer.ts";
import type { Query } from "./query.ts";

/** Priority (always 0) and weight and port of an SRV record. */
const SRV_FIXED_BYTES = 6;
/** The highest target of a compression pointer (RFC 1035 section 4.1.4). */
const MAX_POINTER = 0x3fff;

/** When leases expire. */
export interface Leases {
  /**
   * For each lease group of a segment, the Unix milliseconds at which the first lease of its clusters
   * expires; Infinity for none.
   */
  of(segment: Leased): Float64Array;
}

/**
 * When the leases expire that a key's names depend on. A table is made when the key is first answered; a
 * renewal makes new tables.
 */
export class LeaseTables implements Leases {
  readonly #expiresAt: (clusterId: string) => number | undefined;
  /** A secondary may drop keys from memory before leases change. */
  readonly #tables = new WeakMap<Leased, Float64Array>();

  /** @param expiresAt Unix milliseconds; undefined for clusters that are not held */
  constructor(expiresAt: (clusterId: string) => number | undefined) {
    this.#expiresAt = expiresAt;
  }

  of(names: Leased): Float64Array {
    const memo = names.leaseMemo;
    if (memo?.owner === this) return memo.table;
    let table = this.#tables.get(names);
    if (table === undefined) {
      table = leaseExpiry(names.leaseGroups, this.#expiresAt);
      this.#tables.set(names, table);
    }
    names.leaseMemo = { owner: this, table };
    return table;
  }
}

/**
 * The same leases for a key that may name a cluster which the frame does not have: its TTLs are bounded by
 * the key's own lease groups, not by the leases of all clusters in the frame.
 */
export function withoutShortcut(leases: Leases, frame: Leased): Leases {
  const expired = new Float64Array(frame.leaseGroups.length);
  return { of: (names) => (names === frame ? expired : leases.of(names)) };
}

/**
 * When each lease group's first lease expires. A cluster that is no longer live (no `expiresAt`) counts as
 * expired: its records may be answered once more, but not be cached.
 */
function leaseExpiry(
  groups: readonly (readonly string[])[],
  expiresAt: (clusterId: string) => number | undefined,
): Float64Array {
  return Float64Array.from(groups, (group) =>
    group.reduce((first, id) => Math.min(first, expiresAt(id) ?? 0), Number.POSITIVE_INFINITY),
  );
}

/** The context for writing records: data, leases, time. */
export interface RecordContext extends AnswerForm {
  readonly world: World;
  readonly leases: Leases;
  readonly now: number;
  /** Selects the first record if the order has no meaning (RFC 1794). */
  readonly rotation: number;
}

/** Writes answers from a world. */
export class AnswerWriter extends MessageWriter {
  declare query: Query;
  context!: RecordContext;
  /** The zone of the name to which the next records belong. */
  zone!: Zone;
  /** The offset of that name in the message. */
  owner = HEADER_BYTES;
  /** The offset of the zone's name. */
  apexAt = HEADER_BYTES;

  /** Sets to which name the next records belong. */
  place(owner: number, zone: Zone, name: FoldedName): void {
    this.owner = owner;
    this.zone = zone;
    this.apexAt = owner + name.length - zone.wire.length;
  }

  /** Writes a record to the answer section. */
  writeAnswer(type: number, ttl: number, data: Uint8Array): void {
    this.writeRecordHeader(this.owner, type, ttl, data.length);
    this.writeBytes(data, 0, data.length);
    this.answers++;
    this.smallestTtl = Math.min(this.smallestTtl, ttl);
  }
}

const writer = new AnswerWriter();

/** Begins an answer from a world, like `beginAnswer`. */
export function beginRecords(message: Uint8Array, query: Query, context: RecordContext): AnswerWriter {
  writer.begin(message, query, context);
  writer.context = context;
  return writer;
}

/** A TTL in seconds, bounded by the lease on which the record depends. */
export function boundedTtl(context: RecordContext, { leased, leaseGroup, ttl }: LeasedTtl): number {
  return bounded(context, leased, leaseGroup, ttl);
}

/** The TTL in seconds of the records of a set. */
function setTtl(context: RecordContext, names: Names, set: number): number {
  return bounded(context, names, names.leaseGroupOf(set), names.ttlOf(set) & ~KEEP_ORDER);
}

function bounded({ leases, now, world }: RecordContext, leased: Leased, leaseGroup: number, ttl: number) {
  if (leaseGroup === 0) return ttl;
  // Nearly always no lease at all expires so soon. The table of the frame is in the CPU's cache, that of the
  // segment seldom.
  if (leases.of(world.frame)[ALL_CLUSTERS]! - now >= ttl * 1000) return ttl;
  const left = (leases.of(leased)[leaseGroup]! - now) / 1000;
  return left >= ttl ? ttl : Math.max(0, Math.floor(left));
}

/**
 * Writes an RRset to the answer section, rotated unless its order matters. Addresses that do not fit are left
 * out, as KEP-1645 allows; any other RRset that does not fit is cut, with TC (RFC 2181 section 9). A datagram
 * has only whole RRsets: others are left out, with TC.
 * @param targets takes the targets of SRV records, with their offsets in the message
 */
export function writeAnswerSet(
  writer: AnswerWriter,
  names: Names,
  set: number,
  targets?: Map<number, number>,
): void {
  const heap = names.bytes;
  const { position, answers, owner } = writer;
  const wholeOnly = writer.transport.isDatagram;
  const type = heap[set]!;
  const count = recordCount(heap, set);
  const ttl = setTtl(writer.context, names, set);
  if (type === RecordType.A || type === RecordType.AAAA) {
    const size = RECORD_HEADER_BYTES + fixedDataBytes(type);
    const most = Math.min(count, Math.floor((writer.addressLimit - position) / size));
    if (wholeOnly && most < count) writer.truncated = true;
    else writer.answers += writeAddresses(writer, names, set, owner, ttl, most);
  } else if (type === RecordType.SRV) {
    const data = recordsOf(heap, set);
    const weight = srvWeight(count);
    const start = firstRecord(writer, names, set, count);
    for (let index = 0; index < count; index++) {
      const at = data + ((start + index) % count) * 6;
      if (!writeService(writer, names, at, ttl, weight, targets)) break;
    }
  } else {
    let at = recordsOf(heap, set);
    for (let index = 0; index < count; index++) {
      const length = read16(heap, at);
      if (!writer.hasRoom(RECORD_HEADER_BYTES + length)) break;
      writer.writeRecordHeader(owner, type, ttl, length);
      writer.writeBytes(heap, at + 2, at + 2 + length);
      writer.answers++;
      at += 2 + length;
    }
  }
  if (writer.truncated && wholeOnly) {
    writer.position = position;
    writer.answers = answers;
  }
  if (ttl < writer.smallestTtl) writer.smallestTtl = ttl;
}

/** The index of the first record: the records take turns, unless their order matters. */
function firstRecord({ context }: AnswerWriter, names: Names, set: number, count: number): number {
  return count > 1 && (names.ttlOf(set) & KEEP_ORDER) === 0 ? context.rotation % count : 0;
}

/** Writes addresses of a set. @returns how many */
function writeAddresses(
  writer: AnswerWriter,
  names: Names,
  set: number,
  owner: number,
  ttl: number,
  most: number,
): number {
  const heap = names.bytes;
  const type = heap[set]!;
  const size = fixedDataBytes(type);
  const count = recordCount(heap, set);
  const data = recordsOf(heap, set);
  const end = data + count * size;
  let at = data + firstRecord(writer, names, set, count) * size;
  for (let index = 0; index < most; index++, at += size) {
    if (at === end) at = data;
    writer.writeRecordHeader(owner, type, ttl, size);
    writer.writeBytes(heap, at, at + size);
  }
  return Math.max(0, most);
}

/** Writes one SRV record, or none if the target is too long for this zone; false if the message is full. */
function writeService(
  writer: AnswerWriter,
  names: Names,
  at: number,
  ttl: number,
  weight: number,
  targets: Map<number, number> | undefined,
): boolean {
  const { owner, zone } = writer;
  const heap = names.bytes;
  const node = targetOf(heap, at);
  const targetBytes = names.nameBytes(node) + zone.wire.length;
  if (targetBytes > MAX_NAME_BYTES) return true;
  if (!writer.hasRoom(RECORD_HEADER_BYTES + SRV_FIXED_BYTES + targetBytes)) return false;
  writer.answers++;
  writer.writeRecordHeader(owner, RecordType.SRV, ttl, SRV_FIXED_BYTES + targetBytes);
  writer.write16(0);
  writer.write16(weight);
  writer.write16(read16(heap, at));
  const targetAt = writer.position;
  writer.copyName(names, node, targetBytes - zone.wire.length);
  writer.writeBytes(zone.wire, 0, zone.wire.length);
  if (targets !== undefined && targetAt <= MAX_POINTER && !targets.has(node)) targets.set(node, targetAt);
  return true;
}

/**
 * Writes the addresses of targets, for a view by its index there, to the additional section, only whole
 * RRsets, while they fit (RFC 2782; specification 2.3.2, 2.4.2).
 */
export function writeTargetAddresses(
  writer: AnswerWriter,
  names: Names,
  targets: ReadonlyMap<number, number>,
  view: number,
): void {
  for (const [node, owner] of targets) {
    const list = names.setListOf(node, view);
    if (list === 0) continue;
    for (const type of [RecordType.A, RecordType.AAAA]) {
      const set = findSet(names.bytes, list, type);
      if (set === 0) continue;
      const count = recordCount(names.bytes, set);
      if (writer.position + count * (RECORD_HEADER_BYTES + fixedDataBytes(type)) > writer.limit) return;
      const ttl = setTtl(writer.context, names, set);
      writer.additionals += writeAddresses(writer, names, set, owner, ttl, count);
    }
  }
}

// ns.dns and hostmaster, the labels below the zone in its SOA and NS records: the names that CoreDNS uses.
const NAME_SERVER = Uint8Array.from([2, 110, 115, 3, 100, 110, 115]);
const MAILBOX = Uint8Array.from([10, 104, 111, 115, 116, 109, 97, 115, 116, 101, 114]);

/** Bytes of the SOA and NS data with a compression pointer to the zone. */
const POINTER_BYTES = 2;
const SOA_DATA_BYTES = NAME_SERVER.length + POINTER_BYTES + MAILBOX.length + POINTER_BYTES + 20;

/** Writes the SOA record (RFC 1035 section 3.3.13) of the zone; false if it does not fit. */
export function writeSoa(writer: AnswerWriter): boolean {
  const { apexAt, context } = writer;
  if (!writer.hasRoom(RECORD_HEADER_BYTES + SOA_DATA_BYTES)) return false;
  writer.writeRecordHeader(apexAt, RecordType.SOA, context.world.frame.negativeTtl, SOA_DATA_BYTES);
  writer.writeBytes(NAME_SERVER, 0, NAME_SERVER.length);
  writer.write16(0xc000 | apexAt);
  writer.writeBytes(MAILBOX, 0, MAILBOX.length);
  writer.write16(0xc000 | apexAt);
  writeSoaNumbers(writer);
  return true;
}

/** Writes the NS record of the zone; returns the offset of its target, or -1 if it does not fit. */
export function writeNs(writer: AnswerWriter): number {
  const { apexAt, context } = writer;
  const length = NAME_SERVER.length + POINTER_BYTES;
  if (!writer.hasRoom(RECORD_HEADER_BYTES + length)) return -1;
  writer.writeRecordHeader(apexAt, RecordType.NS, context.world.frame.negativeTtl, length);
  const target = writer.position;
  writer.writeBytes(NAME_SERVER, 0, NAME_SERVER.length);
  writer.write16(0xc000 | apexAt);
  return target;
}

/**
 * Writes the SOA record of a reverse name, which is a zone of its own because the zone around it is not ours;
 * false if it does not fit.
 */
export function writeReverseSoa(writer: AnswerWriter): boolean {
  const { wire } = writer.zone;
  const length = NAME_SERVER.length + MAILBOX.length + 2 * wire.length + 20;
  if (!writer.hasRoom(RECORD_HEADER_BYTES + length)) return false;
  writer.writeRecordHeader(writer.owner, RecordType.SOA, writer.context.world.frame.negativeTtl, length);
  writer.writeBytes(NAME_SERVER, 0, NAME_SERVER.length);
  writer.writeBytes(wire, 0, wire.length);
  writer.writeBytes(MAILBOX, 0, MAILBOX.length);
  writer.writeBytes(wire, 0, wire.length);
  writeSoaNumbers(writer);
  return true;
}

function writeSoaNumbers(writer: AnswerWriter): void {
  const { serial, frame } = writer.context.world;
  writer.write32(serial);
  writer.write32(SOA_TIMERS.refresh);
  writer.write32(SOA_TIMERS.retry);
  writer.write32(SOA_TIMERS.expire);
  writer.write32(frame.negativeTtl);
}

/** The outcomes of queries that get no records, by response code. */
const WITHOUT_RECORDS = {
  [ResponseCode.NOERROR]: "nodata",
  [ResponseCode.FORMERR]: "formerr",
  [ResponseCode.SERVFAIL]: "servfail",
  [ResponseCode.NXDOMAIN]: "nxdomain",
  [ResponseCode.NOTIMP]: "notimp",
  [ResponseCode.REFUSED]: "refused",
  [ResponseCode.BADVERS]: "badvers",
} as const;

/** The outcome of a query, for metrics and logs. */
export type Outcome = "answer" | (typeof WITHOUT_RECORDS)[keyof typeof WITHOUT_RECORDS];
export const OUTCOMES: readonly Outcome[] = ["answer", ...Object.values(WITHOUT_RECORDS)];

/** The outcome of a query by its response code. @param answers the number of records in the answer section */
export function outcomeOf(rcode: number, answers = 0): Outcome {
  if (rcode === ResponseCode.NOERROR && answers > 0) return "answer";
  return WITHOUT_RECORDS[rcode as keyof typeof WITHOUT_RECORDS] ?? "servfail";
}

/** An answer in wire format. */
export interface Answer {
  /** The DNS message; the caller owns it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly outcome: Outcome;
  /**
   * RFC 8484 section 5.1: the smallest TTL, or the negative TTL (RFC 2308); 0 if caches must not keep the
   * answer. Seconds.
   */
  readonly freshness: number;
  /** Present if the name is out of zone. */
  readonly outOfZone?: OutOfZoneReason;
  /**
   * Present if such a name is an ancestor of names in the zones: it exists, and must not be denied (RFC 8020
   * section 2).
   */
  readonly isAncestor?: true;
  /**
   * The target of the last CNAME record if it is out of zone, in wire form with letters folded; absent
   * otherwise.
   */
  readonly cnameTarget?: Uint8Array;
}

/**
 * Why a name is out of zone: it is in no zone of the view; or nothing is loaded, so the zones are unknown.
 */
type OutOfZoneReason = "no-zone" | "unknown";

// HINFO "RFC8482" "" (RFC 8482 section 4.2): the answer to ANY that resolvers understand.
const MINIMAL_ANY = Uint8Array.from([7, 82, 70, 67, 56, 52, 56, 50, 0]);

/** Answers type ANY at a name with records. It never follows a CNAME chain, so it always has room. */
export function minimalAny(writer: AnswerWriter): Answer {
  writer.writeAnswer(RecordType.HINFO, writer.context.world.frame.negativeTtl, MINIMAL_ANY);
  return positive(writer);
}

/** Ends an answer with records. */
export function positive(writer: AnswerWriter): Answer {
  const bytes = writer.finish(ResponseCode.NOERROR, true);
  return { bytes, outcome: "answer", freshness: writer.truncated ? 0 : writer.smallestTtl };
}

/**
 * Ends with NODATA or NXDOMAIN after the CNAME chain, with the SOA record that has the negative TTL (RFC
 * 2308).
 */
export function negative(writer: AnswerWriter, rcode: number): Answer {
  writeSoa(writer);
  return finishNegative(writer, rcode);
}

/** Ends a negative answer; its SOA record is written if it fits. */
export function finishNegative(writer: AnswerWriter, rcode: number): Answer {
  const { truncated, smallestTtl, context } = writer;
  writer.authorities = truncated ? 0 : 1;
  const freshness = truncated ? 0 : Math.min(smallestTtl, context.world.frame.negativeTtl);
  return { bytes: writer.finish(rcode, true), outcome: outcomeOf(rcode), freshness };
}
