import { HEADER_BYTES, RecordType, ResponseCode } from "../dns/codes.ts";
import { readFoldedName } from "../dns/folded-name.ts";
import type { ImageZone } from "../zone/image/image.ts";
import { POD_NAMES, SET_HEADER_BYTES } from "../zone/image/layout.ts";
import { findSet, read16 } from "../zone/record-block.ts";
import type { Answer } from "./answer.ts";
import { findNode, findZone, isAboveAnyZone, isInAnyZone } from "./find.ts";
import { minimalAny, negative, positive } from "./finish.ts";
import { beginAnswer, type MessageWriter } from "./message-writer.ts";
import { answerPodName } from "./pod-name.ts";
import type { Query } from "./query.ts";
import {
  type RecordContext,
  writeAdditionalSet,
  writeAnswerSet,
  writeTargetAddresses,
} from "./record-writer.ts";
import { writeNs, writeSoa } from "./zone-records.ts";

/** The most CNAME records in one answer. */
const MOST_ALIASES = 8;
const NO_NODES: readonly number[] = [];

/**
 * Answers a name in our zones. Follows CNAME records (RFC 1034 section 4.3.2) while their targets are in our zones; the
 * target's records and rcode follow in the same answer (RFC 6604).
 */
export function answerInZone(
  message: Uint8Array,
  query: Query,
  context: RecordContext,
  firstZone: ImageZone,
  view: number,
): Answer {
  const { image } = context;
  const writer = beginAnswer(message, query, context);
  let { name } = query;
  let zone = firstZone;
  let owner = HEADER_BYTES;
  // Most answers have no CNAME record: a list for each would cost more than the search.
  let followed = NO_NODES;
  for (;;) {
    const apexAt = owner + name.bytes - zone.wire.length;
    const tree = image.treeFor(zone, view);
    const node = findNode(image, zone, tree, name, 0);
    if (node < 0 || !image.existsIn(node, view))
      return (
        answerPodName(writer, query, context, zone, tree, name, owner, apexAt) ??
        negative(
          writer,
          query,
          image,
          apexAt,
          isAboveAnyZone(image, name, view) ? ResponseCode.NOERROR : ResponseCode.NXDOMAIN,
        )
      );
    if (node < image.trees) return answerApex(writer, query, context, tree, owner, apexAt, zone, view);
    const list = image.setListOf(node, view);
    if (list === 0 || image.heap[list] === 0)
      return negative(writer, query, image, apexAt, ResponseCode.NOERROR);
    if (query.type === RecordType.ANY)
      return findSet(image.heap, list, POD_NAMES) === 0
        ? minimalAny(writer, query, image, owner)
        : negative(writer, query, image, apexAt, ResponseCode.NOERROR);
    const set = findSet(image.heap, list, query.type);
    if (set !== 0) return answerSet(writer, query, context, set, owner, apexAt, zone, view);
    const alias = findSet(image.heap, list, RecordType.CNAME);
    if (alias === 0) return negative(writer, query, image, apexAt, ResponseCode.NOERROR);
    if (followed.length === MOST_ALIASES || followed.includes(node)) return positive(writer, query);
    followed = [...followed, node];
    writeAnswerSet(writer, context, alias, owner, zone, undefined);
    if (writer.truncated) return positive(writer, query);
    owner = writer.position - read16(image.heap, alias + SET_HEADER_BYTES);
    // The target was written uncompressed into the message.
    name = readFoldedName(writer.bytes, owner)!;
    const next = findZone(image, name, view);
    if (next === undefined) {
      if (isInAnyZone(image, name)) return positive(writer, query);
      return { ...positive(writer, query), leadsTo: name.octets.slice(0, name.bytes) };
    }
    zone = next;
  }
}

function answerSet(
  writer: MessageWriter,
  query: Query,
  context: RecordContext,
  set: number,
  owner: number,
  apexAt: number,
  zone: ImageZone,
  view: number,
): Answer {
  const targets = query.type === RecordType.SRV ? new Map<number, number>() : undefined;
  const before = writer.answers;
  writeAnswerSet(writer, context, set, owner, zone, targets);
  if (writer.answers === before && !writer.truncated)
    return negative(writer, query, context.image, apexAt, ResponseCode.NOERROR);
  if (targets !== undefined && !writer.truncated) writeTargetAddresses(writer, context, targets, view);
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
  zone: ImageZone,
  view: number,
): Answer {
  const { image } = context;
  if (query.type === RecordType.ANY) return minimalAny(writer, query, image, owner);
  if (query.type !== RecordType.SOA && query.type !== RecordType.NS) {
    const list = image.setListOf(tree, view);
    const set = list === 0 ? 0 : findSet(image.heap, list, query.type);
    return set === 0
      ? negative(writer, query, image, apexAt, ResponseCode.NOERROR)
      : answerSet(writer, query, context, set, owner, apexAt, zone, view);
  }
  writer.smallestTtl = Math.min(writer.smallestTtl, image.negativeTtl);
  if (query.type === RecordType.SOA) {
    if (writeSoa(writer, image, apexAt)) writer.answers++;
  } else {
    const targetAt = writeNs(writer, image, apexAt);
    if (targetAt < 0) return positive(writer, query);
    writer.answers++;
    const list = image.setListOf(image.nameServers[tree]!, view);
    for (const type of [RecordType.A, RecordType.AAAA]) {
      const set = findSet(image.heap, list, type);
      if (set !== 0) writeAdditionalSet(writer, context, set, targetAt, type);
    }
  }
  return positive(writer, query);
}
