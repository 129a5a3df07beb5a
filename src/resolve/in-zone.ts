import {
  type FoldedName,
  HEADER_BYTES,
  isAboveZone,
  RecordType,
  ResponseCode,
  readFoldedName,
  startOfZone,
} from "../dns/name.ts";
import { readPodLabel } from "../dns/reverse.ts";
import type { Frame, Zone } from "../zone/frame.ts";
import { findSet, read16, recordsOf } from "../zone/record-block.ts";
import type { Location, Names } from "../zone/world.ts";
import { type Answer, type Missing, minimalAny, negative, positive } from "./answer.ts";
import { beginAnswer, type MessageWriter, RECORD_HEADER_BYTES } from "./message-writer.ts";
import type { Query } from "./query.ts";
import {
  boundedTtl,
  type RecordContext,
  writeAdditionalSet,
  writeAnswerSet,
  writeTargetAddresses,
} from "./record-writer.ts";
import { writeNs, writeSoa } from "./zone-records.ts";

/** The most CNAME records in one answer. */
const MOST_ALIASES = 8;
const NOWHERE: readonly Location[] = [];

/**
 * Answers a name in our zones. Follows CNAME records (RFC 1034 section 4.3.2) while their targets are in our zones; the
 * target's records and rcode follow in the same answer (RFC 6604).
 */
export function answerInZone(
  message: Uint8Array,
  query: Query,
  context: RecordContext,
  firstZone: Zone,
  view: number,
): Answer | Missing {
  const { world } = context;
  const { frame } = world;
  const viewName = frame.viewName(view);
  const writer = beginAnswer(message, query, context);
  let { name } = query;
  let zone = firstZone;
  let owner = HEADER_BYTES;
  // Most answers have no CNAME record: a list for each would cost more than the search.
  let followed = NOWHERE;
  for (;;) {
    const apexAt = owner + name.length - zone.wire.length;
    const tree = frame.treeFor(zone, view);
    const located = world.locate(zone, tree, name, view);
    if (located === undefined)
      return (
        answerPodName(writer, query, context, zone, tree, name, owner, apexAt) ??
        negative(
          writer,
          query,
          world,
          apexAt,
          isAboveAnyZone(frame, name, view) ? ResponseCode.NOERROR : ResponseCode.NXDOMAIN,
        )
      );
    if ("missing" in located) return located;
    const { names, node } = located;
    if (name.labels === zone.labels)
      return answerApex(writer, query, context, tree, owner, apexAt, zone, viewName);
    const heap = names.bytes;
    const ownView = names.viewOf(viewName);
    const list = names.setListOf(node, ownView);
    if (list === 0 || heap[list] === 0) return negative(writer, query, world, apexAt, ResponseCode.NOERROR);
    if (query.type === RecordType.ANY) return minimalAny(writer, query, world, owner);
    const set = findSet(heap, list, query.type);
    if (set !== 0) return answerSet(writer, query, context, names, set, owner, apexAt, zone, ownView);
    const alias = findSet(heap, list, RecordType.CNAME);
    if (alias === 0) return negative(writer, query, world, apexAt, ResponseCode.NOERROR);
    const isLoop = followed.some((one) => one.names === names && one.node === node);
    if (followed.length === MOST_ALIASES || isLoop) return positive(writer, query);
    followed = [...followed, located];
    writeAnswerSet(writer, context, names, alias, owner, zone, undefined);
    if (writer.truncated) return positive(writer, query);
    owner = writer.position - read16(heap, recordsOf(heap, alias));
    // The target was written uncompressed into the message.
    name = readFoldedName(writer.bytes, owner)!;
    const next = findZone(frame, name, view);
    if (next === undefined) {
      if (isInAnyZone(frame, name)) return positive(writer, query);
      return { ...positive(writer, query), cnameTarget: name.bytes.slice(0, name.length) };
    }
    zone = next;
  }
}

function answerSet(
  writer: MessageWriter,
  query: Query,
  context: RecordContext,
  names: Names,
  set: number,
  owner: number,
  apexAt: number,
  zone: Zone,
  ownView: number,
): Answer {
  const targets = query.type === RecordType.SRV ? new Map<number, number>() : undefined;
  const before = writer.answers;
  writeAnswerSet(writer, context, names, set, owner, zone, targets);
  if (writer.answers === before && !writer.truncated)
    return negative(writer, query, context.world, apexAt, ResponseCode.NOERROR);
  if (targets !== undefined && !writer.truncated)
    writeTargetAddresses(writer, context, names, targets, ownView);
  return positive(writer, query);
}

/**
 * Answers the apex: SOA and NS (RFC 1034 section 4.2.1) with the name server's addresses, if any; and addresses, if the zone's name is also
 * a host of the gateway.
 */
function answerApex(
  writer: MessageWriter,
  query: Query,
  context: RecordContext,
  tree: number,
  owner: number,
  apexAt: number,
  zone: Zone,
  viewName: string | undefined,
): Answer {
  const { world } = context;
  const { frame } = world;
  if (query.type === RecordType.ANY) return minimalAny(writer, query, world, owner);
  if (query.type !== RecordType.SOA && query.type !== RecordType.NS) {
    const { names, node } = world.apex(tree);
    const ownView = names.viewOf(viewName);
    const list = names.setListOf(node, ownView);
    const set = list === 0 ? 0 : findSet(names.bytes, list, query.type);
    return set === 0
      ? negative(writer, query, world, apexAt, ResponseCode.NOERROR)
      : answerSet(writer, query, context, names, set, owner, apexAt, zone, ownView);
  }
  writer.smallestTtl = Math.min(writer.smallestTtl, frame.negativeTtl);
  if (query.type === RecordType.SOA) {
    if (writeSoa(writer, world, apexAt)) writer.answers++;
  } else {
    const targetAt = writeNs(writer, world, apexAt);
    if (targetAt < 0) return positive(writer, query);
    writer.answers++;
    const { names, node } = world.nameServer(tree);
    const list = names.setListOf(node, names.viewOf(viewName));
    for (const type of [RecordType.A, RecordType.AAAA]) {
      const set = list === 0 ? 0 : findSet(names.bytes, list, type);
      if (set !== 0) writeAdditionalSet(writer, context, names, set, targetAt, type);
    }
  }
  return positive(writer, query);
}

/** The closest zone of a name among the zones of the view. */
export function findZone(frame: Frame, name: FoldedName, view: number): Zone | undefined {
  for (const zone of frame.zones)
    if (startOfZone(name, zone) >= 0 && frame.treeFor(zone, view) >= 0) return zone;
  return undefined;
}

/** Whether a name is in a zone, in any view. */
export function isInAnyZone(frame: Frame, name: FoldedName): boolean {
  return frame.zones.some((zone) => startOfZone(name, zone) >= 0);
}

/** Whether a name is an ancestor of a zone of the view; then it exists (RFC 8020 section 2). */
export function isAboveAnyZone(frame: Frame, name: FoldedName, view: number): boolean {
  for (const zone of frame.zones) if (isAboveZone(name, zone) && frame.treeFor(zone, view) >= 0) return true;
  return false;
}

/** Answers a pod's name with the address in the name, in namespaces where all such names exist (DNS-based service discovery 1.0.1, section 2.6). */
function answerPodName(
  writer: MessageWriter,
  query: Query,
  context: RecordContext,
  zone: Zone,
  tree: number,
  name: FoldedName,
  owner: number,
  apexAt: number,
): Answer | Missing | undefined {
  const { world } = context;
  const terms = world.podNames(zone, tree, name);
  if (terms === undefined || "missing" in terms) return terms;
  const bytes = readPodLabel(name.bytes);
  if (bytes === undefined) return undefined;
  const type = bytes.length === 4 ? RecordType.A : RecordType.AAAA;
  if (query.type !== type && query.type !== RecordType.ANY)
    return negative(writer, query, world, apexAt, ResponseCode.NOERROR);
  if (query.type === RecordType.ANY) return minimalAny(writer, query, world, owner);
  if (!writer.hasRoom(RECORD_HEADER_BYTES + bytes.length)) return positive(writer, query);
  const ttl = boundedTtl(context, terms.leased, terms.ttl, terms.leaseGroup);
  writer.writeRecordHeader(owner, type, ttl, bytes.length);
  writer.writeBytes(bytes, 0, bytes.length);
  writer.answers++;
  writer.smallestTtl = Math.min(writer.smallestTtl, ttl);
  return positive(writer, query);
}
