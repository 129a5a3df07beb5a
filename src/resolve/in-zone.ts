import { readPodLabel } from "../dns/address.ts";
import {
  type FoldedName,
  HEADER_BYTES,
  isAboveZone,
  RecordType,
  ResponseCode,
  readFoldedName,
  startOfZone,
} from "../dns/name.ts";
import type { Frame, Zone } from "../zone/frame.ts";
import { findSet, read16, recordsOf } from "../zone/record-block.ts";
import type { Location, Names } from "../zone/world.ts";
import { type Answer, minimalAny, negative, positive } from "./answer.ts";
import { RECORD_HEADER_BYTES } from "./message-writer.ts";
import type { Query } from "./query.ts";
import {
  type AnswerWriter,
  beginRecords,
  boundedTtl,
  type RecordContext,
  writeAnswerSet,
  writeNs,
  writeSoa,
  writeTargetAddresses,
} from "./record-writer.ts";

/** The most CNAME records in one answer. */
const MOST_ALIASES = 8;
const NOWHERE: readonly Location[] = [];

/**
 * Answers a name in our zones. Follows CNAME records (RFC 1034 section 4.3.2) while their targets are in our
 * zones; the target's records and rcode follow in the same answer (RFC 6604).
 */
export function answerInZone(
  message: Uint8Array,
  query: Query,
  context: RecordContext,
  firstZone: Zone,
  view: number,
): Answer {
  const { world } = context;
  const { frame } = world;
  const viewName = frame.viewName(view);
  const writer = beginRecords(message, query, context);
  let { name } = query;
  writer.place(HEADER_BYTES, firstZone, name);
  // Most answers have no CNAME record: a list for each would cost more than the search.
  let followed = NOWHERE;
  for (;;) {
    const { zone } = writer;
    const tree = frame.treeFor(zone, view);
    const located = world.locate(zone, tree, name, view);
    if (located === undefined)
      return (
        answerPodName(writer, tree, name) ??
        negative(writer, isAboveAnyZone(frame, name, view) ? ResponseCode.NOERROR : ResponseCode.NXDOMAIN)
      );
    const { names, node } = located;
    if (name.labels === zone.labels) return answerApex(writer, tree, viewName);
    const heap = names.bytes;
    const ownView = names.viewOf(viewName);
    const list = names.setListOf(node, ownView);
    if (list === 0 || heap[list] === 0) return negative(writer, ResponseCode.NOERROR);
    if (query.type === RecordType.ANY) return minimalAny(writer);
    const set = findSet(heap, list, query.type);
    if (set !== 0) return answerSet(writer, names, set, ownView);
    const alias = findSet(heap, list, RecordType.CNAME);
    if (alias === 0) return negative(writer, ResponseCode.NOERROR);
    const isLoop = followed.some((one) => one.names === names && one.node === node);
    if (followed.length === MOST_ALIASES || isLoop) return positive(writer);
    followed = [...followed, located];
    writeAnswerSet(writer, names, alias);
    if (writer.truncated) return positive(writer);
    const target = writer.position - read16(heap, recordsOf(heap, alias));
    // The target was written uncompressed into the message.
    name = readFoldedName(writer.bytes, target)!;
    const next = findZone(frame, name, view);
    if (next === undefined) return { ...positive(writer), cnameTarget: name.bytes.slice(0, name.length) };
    writer.place(target, next, name);
  }
}

function answerSet(writer: AnswerWriter, names: Names, set: number, ownView: number): Answer {
  const targets = writer.query.type === RecordType.SRV ? new Map<number, number>() : undefined;
  const before = writer.answers;
  writeAnswerSet(writer, names, set, targets);
  if (writer.answers === before && !writer.truncated) return negative(writer, ResponseCode.NOERROR);
  if (targets !== undefined && !writer.truncated) writeTargetAddresses(writer, names, targets, ownView);
  return positive(writer);
}

/**
 * Answers the apex: SOA and NS (RFC 1034 section 4.2.1) with the name server's addresses, if any; and
 * addresses, if the zone's name is also a host of the gateway.
 */
function answerApex(writer: AnswerWriter, tree: number, viewName: string | undefined): Answer {
  const { world } = writer.context;
  const { type } = writer.query;
  if (type === RecordType.ANY) return minimalAny(writer);
  if (type !== RecordType.SOA && type !== RecordType.NS) {
    const { names, node } = world.apex(tree);
    const ownView = names.viewOf(viewName);
    const list = names.setListOf(node, ownView);
    const set = list === 0 ? 0 : findSet(names.bytes, list, type);
    return set === 0 ? negative(writer, ResponseCode.NOERROR) : answerSet(writer, names, set, ownView);
  }
  writer.smallestTtl = Math.min(writer.smallestTtl, world.frame.negativeTtl);
  if (type === RecordType.SOA) {
    if (writeSoa(writer)) writer.answers++;
    return positive(writer);
  }
  const targetAt = writeNs(writer);
  if (targetAt < 0) return positive(writer);
  writer.answers++;
  const { names, node } = world.nameServer(tree);
  writeTargetAddresses(writer, names, new Map([[node, targetAt]]), names.viewOf(viewName));
  return positive(writer);
}

/** The closest zone of a name among the zones of the view. */
export function findZone(frame: Frame, name: FoldedName, view: number): Zone | undefined {
  for (const zone of frame.zones)
    if (startOfZone(name, zone) >= 0 && frame.treeFor(zone, view) >= 0) return zone;
  return undefined;
}

/** Whether a name is an ancestor of a zone of the view; then it exists (RFC 8020 section 2). */
export function isAboveAnyZone(frame: Frame, name: FoldedName, view: number): boolean {
  for (const zone of frame.zones) if (isAboveZone(name, zone) && frame.treeFor(zone, view) >= 0) return true;
  return false;
}

/**
 * Answers a pod's name with the address in the name, in namespaces where all such names exist (DNS-based
 * service discovery 1.0.1, section 2.6).
 */
function answerPodName(writer: AnswerWriter, tree: number, name: FoldedName): Answer | undefined {
  const { context, query, zone } = writer;
  const terms = context.world.podNames(zone, tree, name);
  const bytes = terms && readPodLabel(name.bytes);
  if (terms === undefined || bytes === undefined) return undefined;
  if (query.type === RecordType.ANY) return minimalAny(writer);
  const type = bytes.length === 4 ? RecordType.A : RecordType.AAAA;
  if (query.type !== type) return negative(writer, ResponseCode.NOERROR);
  if (writer.hasRoom(RECORD_HEADER_BYTES + bytes.length))
    writer.writeAnswer(type, boundedTtl(context, terms), bytes);
  return positive(writer);
}
