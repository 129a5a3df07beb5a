import { MAX_NAME_BYTES, RecordType } from "../dns/name.ts";
import { ALL_CLUSTERS, type Zone } from "../zone/frame.ts";
import {
  findSet,
  fixedDataBytes,
  KEEP_ORDER,
  read16,
  recordCount,
  recordsOf,
  srvWeight,
  targetOf,
} from "../zone/record-block.ts";
import type { Leased, Names, World } from "../zone/world.ts";
import type { Leases } from "./answer.ts";
import { type AnswerForm, type MessageWriter, RECORD_HEADER_BYTES } from "./message-writer.ts";

/** Priority (always 0) and weight and port of an SRV record. */
const SRV_FIXED_BYTES = 6;
/** The highest target of a compression pointer (RFC 1035 section 4.1.4). */
const MAX_POINTER = 0x3fff;

/** The context for writing records: data, leases, time. */
export interface RecordContext extends AnswerForm {
  readonly world: World;
  readonly leases: Leases;
  readonly now: number;
  /** Selects the first record if the order has no meaning (RFC 1794). */
  readonly rotation: number;
}

/**
 * A TTL in seconds, bounded by the lease on which the record depends.
 * @param leaseGroup of `leased`
 */
export function boundedTtl(
  { leases, now, world }: RecordContext,
  leased: Leased,
  ttl: number,
  leaseGroup: number,
): number {
  if (leaseGroup === 0) return ttl;
  // Nearly always no lease at all expires so soon. The table of the frame is in the CPU's cache, that of the segment seldom.
  if (leases.of(world.frame)[ALL_CLUSTERS]! - now >= ttl * 1000) return ttl;
  const left = (leases.of(leased)[leaseGroup]! - now) / 1000;
  return left >= ttl ? ttl : Math.max(0, Math.floor(left));
}

/** The TTL in seconds of the records of a set. */
function setTtl(context: RecordContext, names: Names, set: number): number {
  return boundedTtl(context, names, names.ttlOf(set) & ~KEEP_ORDER, names.leaseGroupOf(set));
}

/**
 * Writes an RRset to the answer section, rotated unless its order matters. Addresses that do not fit are left out, as KEP-1645 allows;
 * any other RRset that does not fit is cut, with TC (RFC 2181 section 9). A datagram has only whole RRsets: others are left out, with TC.
 */
export function writeAnswerSet(
  writer: MessageWriter,
  context: RecordContext,
  names: Names,
  set: number,
  owner: number,
  zone: Zone,
  targets: Map<number, number> | undefined,
): void {
  const heap = names.bytes;
  const { position, answers } = writer;
  const wholeOnly = writer.transport.isDatagram;
  const type = heap[set]!;
  const count = recordCount(heap, set);
  const data = recordsOf(heap, set);
  const ttl = setTtl(context, names, set);
  const start = firstRecord(context, names, set, count);
  if (type === RecordType.A || type === RecordType.AAAA) {
    const size = fixedDataBytes(type);
    const fitting = Math.floor((writer.addressLimit - position) / (RECORD_HEADER_BYTES + size));
    const most = Math.min(count, fitting);
    if (wholeOnly && most < count) writer.truncated = true;
    else writer.answers += writeAddresses(writer, heap, data, owner, type, size, ttl, count, start, most);
  } else if (type === RecordType.SRV) {
    const weight = srvWeight(count);
    for (let index = 0; index < count; index++) {
      const at = data + ((start + index) % count) * 6;
      if (!writeService(writer, names, at, owner, zone, ttl, weight, targets)) break;
    }
  } else {
    let at = data;
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
function firstRecord(context: RecordContext, names: Names, set: number, count: number): number {
  return count > 1 && (names.ttlOf(set) & KEEP_ORDER) === 0 ? context.rotation % count : 0;
}

function writeAddresses(
  writer: MessageWriter,
  heap: Uint8Array,
  data: number,
  owner: number,
  type: number,
  size: number,
  ttl: number,
  count: number,
  start: number,
  most: number,
): number {
  let at = data + start * size;
  const end = data + count * size;
  for (let index = 0; index < most; index++, at += size) {
    if (at === end) at = data;
    writer.writeRecordHeader(owner, type, ttl, size);
    writer.writeBytes(heap, at, at + size);
  }
  return Math.max(0, most);
}

/** Writes one SRV record, or none if the target is too long for this zone; false if the message is full. */
function writeService(
  writer: MessageWriter,
  names: Names,
  at: number,
  owner: number,
  zone: Zone,
  ttl: number,
  weight: number,
  targets: Map<number, number> | undefined,
): boolean {
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
 * Writes the addresses of SRV targets, for a view by its index there, to the additional section, only whole RRsets, while they fit
 * (RFC 2782; specification 2.3.2, 2.4.2).
 */
export function writeTargetAddresses(
  writer: MessageWriter,
  context: RecordContext,
  names: Names,
  targets: ReadonlyMap<number, number>,
  view: number,
): void {
  for (const [node, owner] of targets) {
    const list = names.setListOf(node, view);
    if (list === 0) continue;
    for (const type of [RecordType.A, RecordType.AAAA]) {
      const set = findSet(names.bytes, list, type);
      if (set !== 0 && !writeAdditionalSet(writer, context, names, set, owner, type)) return;
    }
  }
}

/** Writes a whole address set to the additional section; false if it does not fit. */
export function writeAdditionalSet(
  writer: MessageWriter,
  context: RecordContext,
  names: Names,
  set: number,
  owner: number,
  type: number,
): boolean {
  const heap = names.bytes;
  const count = recordCount(heap, set);
  const size = fixedDataBytes(type);
  if (writer.position + count * (RECORD_HEADER_BYTES + size) > writer.limit) return false;
  const data = recordsOf(heap, set);
  const start = firstRecord(context, names, set, count);
  writer.additionals += writeAddresses(
    writer,
    heap,
    data,
    owner,
    type,
    size,
    setTtl(context, names, set),
    count,
    start,
    count,
  );
  return true;
}
