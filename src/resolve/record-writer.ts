import { MAX_NAME_BYTES, RecordType } from "../dns/codes.ts";
import type { ImageZone, ZoneImage } from "../zone/image/image.ts";
import { KEEP_ORDER, SET_HEADER_BYTES } from "../zone/image/layout.ts";
import { findSet, fixedDataBytes, read16, read32 } from "../zone/record-block.ts";
import { type AnswerForm, type MessageWriter, RECORD_HEADER_BYTES } from "./message-writer.ts";

/** Priority (always 0) and weight and port of an SRV record. */
const SRV_FIXED_BYTES = 6;
/** The highest target of a compression pointer (RFC 1035 section 4.1.4). */
const MAX_POINTER = 0x3fff;

/** The context for writing records: image, zone of the query, leases, time. */
export interface RecordContext extends AnswerForm {
  readonly image: ZoneImage;
  /** Unix milliseconds at which the first lease of each lease group expires. */
  readonly leaseExpiry: Float64Array;
  readonly now: number;
  /** Selects the first record if the order has no meaning (RFC 1794). */
  readonly rotation: number;
}

/** The TTL in seconds, bounded by the lease on which the record depends. */
export function boundedTtl(context: RecordContext, ttlIndex: number, leaseGroup: number): number {
  const ttl = context.image.ttls[ttlIndex & ~KEEP_ORDER]!;
  if (leaseGroup === 0) return ttl;
  const left = (context.leaseExpiry[leaseGroup]! - context.now) / 1000;
  return left >= ttl ? ttl : Math.max(0, Math.floor(left));
}

function setTtl(context: RecordContext, set: number): number {
  const { heap } = context.image;
  return boundedTtl(context, heap[set + 2]!, read16(heap, set + 3));
}

/**
 * Writes an RRset to the answer section, rotated unless its order matters. Addresses that do not fit are left out, as KEP-1645 allows;
 * any other RRset that does not fit is cut, with TC (RFC 2181 section 9). A datagram has only whole RRsets: others are left out, with TC.
 */
export function writeAnswerSet(
  writer: MessageWriter,
  context: RecordContext,
  set: number,
  owner: number,
  zone: ImageZone,
  targets: Map<number, number> | undefined,
): void {
  const { heap } = context.image;
  const { position, answers } = writer;
  const wholeOnly = writer.transport.isDatagram;
  const type = read16(heap, set);
  const count = read16(heap, set + 5);
  const data = set + SET_HEADER_BYTES;
  const ttl = setTtl(context, set);
  const start = firstRecord(context, set, count);
  if (type === RecordType.A || type === RecordType.AAAA) {
    const size = fixedDataBytes(type);
    const fitting = Math.floor((writer.addressLimit - position) / (RECORD_HEADER_BYTES + size));
    const most = Math.min(count, fitting);
    if (wholeOnly && most < count) writer.truncated = true;
    else writer.answers += writeAddresses(writer, heap, data, owner, type, size, ttl, count, start, most);
  } else if (type === RecordType.SRV) {
    const weight = Math.max(1, Math.floor(100 / count));
    for (let index = 0; index < count; index++) {
      const at = data + ((start + index) % count) * 6;
      if (!writeService(writer, context.image, at, owner, zone, ttl, weight, targets)) break;
    }
  } else {
    let at = data;
    for (let index = 0; index < count; index++) {
      const length = read16(heap, at);
      if (!writer.hasRoom(RECORD_HEADER_BYTES + length)) break;
      writer.writeRecordHeader(owner, type, ttl, length);
      writer.writeOctets(heap, at + 2, at + 2 + length);
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
function firstRecord(context: RecordContext, set: number, count: number): number {
  return count > 1 && (context.image.heap[set + 2]! & KEEP_ORDER) === 0 ? context.rotation % count : 0;
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
  for (let index = 0; index < most; index++) {
    const at = data + ((start + index) % count) * size;
    writer.writeRecordHeader(owner, type, ttl, size);
    writer.writeOctets(heap, at, at + size);
  }
  return Math.max(0, most);
}

/** Writes one SRV record, or none if the target is too long for this zone; false if the message is full. */
function writeService(
  writer: MessageWriter,
  image: ZoneImage,
  at: number,
  owner: number,
  zone: ImageZone,
  ttl: number,
  weight: number,
  targets: Map<number, number> | undefined,
): boolean {
  const { heap } = image;
  const node = read32(heap, at + 2);
  const targetBytes = nameBytes(image, node, zone);
  if (targetBytes > MAX_NAME_BYTES) return true;
  if (!writer.hasRoom(RECORD_HEADER_BYTES + SRV_FIXED_BYTES + targetBytes)) return false;
  writer.answers++;
  writer.writeRecordHeader(owner, RecordType.SRV, ttl, SRV_FIXED_BYTES + targetBytes);
  writer.write16(0);
  writer.write16(weight);
  writer.write16(read16(heap, at));
  const targetAt = writer.position;
  writeName(writer, image, node, zone);
  if (targets !== undefined && targetAt <= MAX_POINTER && !targets.has(node)) targets.set(node, targetAt);
  return true;
}

/** The length in bytes of a node's name below a zone. */
export function nameBytes(
  { heap, nodeLabel, nodeParent, trees }: ZoneImage,
  start: number,
  zone: ImageZone,
): number {
  let bytes = zone.wire.length;
  for (let node = start; node >= trees; node = nodeParent[node]!) bytes += heap[nodeLabel[node]!]! + 1;
  return bytes;
}

/** Writes a node's name below a zone, uncompressed (RFC 2782 forbids compression in SRV). */
export function writeName(
  writer: MessageWriter,
  { heap, nodeLabel, nodeParent, trees }: ZoneImage,
  start: number,
  zone: ImageZone,
): void {
  for (let node = start; node >= trees; node = nodeParent[node]!) {
    const at = nodeLabel[node]!;
    writer.writeOctets(heap, at, at + 1 + heap[at]!);
  }
  writer.writeOctets(zone.wire, 0, zone.wire.length);
}

/**
 * Writes the addresses of SRV targets to the additional section, only whole RRsets, while they fit
 * (RFC 2782; specification 2.3.2, 2.4.2).
 */
export function writeTargetAddresses(
  writer: MessageWriter,
  context: RecordContext,
  targets: ReadonlyMap<number, number>,
  view: number,
): void {
  const { image } = context;
  for (const [node, owner] of targets) {
    const list = image.setListOf(node, view);
    if (list === 0) continue;
    for (const type of [RecordType.A, RecordType.AAAA]) {
      const set = findSet(image.heap, list, type);
      if (set !== 0 && !writeAdditionalSet(writer, context, set, owner, type)) return;
    }
  }
}

/** Writes a whole address set to the additional section; false if it does not fit. */
export function writeAdditionalSet(
  writer: MessageWriter,
  context: RecordContext,
  set: number,
  owner: number,
  type: number,
): boolean {
  const { heap } = context.image;
  const count = read16(heap, set + 5);
  const size = fixedDataBytes(type);
  if (writer.position + count * (RECORD_HEADER_BYTES + size) > writer.limit) return false;
  const data = set + SET_HEADER_BYTES;
  const start = firstRecord(context, set, count);
  writer.additionals += writeAddresses(
    writer,
    heap,
    data,
    owner,
    type,
    size,
    setTtl(context, set),
    count,
    start,
    count,
  );
  return true;
}
