import { ExtendedError, HEADER_BYTES, RecordType, ResponseCode } from "../dns/codes.ts";
import { readReverseName } from "../dns/reverse.ts";
import type { ImageZone, ZoneImage } from "../zone/image.ts";
import { APEX_HASH, hashLabel } from "../zone/name-hash.ts";
import { findSet, read16, read32 } from "../zone/record-block.ts";
import type { Answer, Outcome } from "./answer.ts";
import { answerFault, answerWith } from "./faults.ts";
import { writer } from "./message-writer.ts";
import { isAnsweredClass, isQuery, type Query, QuestionName, readPlainQuery, readQuery } from "./query.ts";
import {
  boundedTtl,
  nameBytes,
  type RecordContext,
  writeAdditionalSet,
  writeAnswerSet,
  writeName,
  writeTargetAddresses,
} from "./record-writer.ts";
import { writeNs, writeReverseSoa, writeSoa } from "./zone-records.ts";

/** What a query is answered from. */
export interface ResolveContext extends RecordContext {
  /** The source cluster of the asker, or undefined for one outside (DESIGN, "view"). */
  readonly view: string | undefined;
  /** What a name outside every zone gets. */
  readonly outside: "refuse" | "nxdomain";
}

// HINFO "RFC8482" "" (RFC 8482 section 4.2): a refusal to list everything that resolvers understand.
const MINIMAL_ANY = Uint8Array.from([7, 82, 70, 67, 56, 52, 56, 50, 0]);

const address = new Uint8Array(16);

/**
 * Answers a DNS query from an image. Pure but for octets that it reuses; synchronous.
 * Returns undefined for octets that are no DNS query at all (too short, or an answer), which HTTP calls 400.
 */
export function resolve(message: Uint8Array, context: ResolveContext): Answer | undefined {
  const plain = readPlainQuery(message);
  return plain === undefined ? resolveStrictly(message, context) : answerQuery(message, plain, context);
}

/** Like `resolve`, always by the strict reader: for what is unusual, and to show that both readers agree. */
export function resolveStrictly(message: Uint8Array, context: ResolveContext): Answer | undefined {
  if (!isQuery(message)) return undefined;
  const query = readQuery(message);
  return "code" in query ? answerFault(message, query.code) : answerQuery(message, query, context);
}

function answerQuery(message: Uint8Array, query: Query, context: ResolveContext): Answer {
  if (query.edns !== undefined && query.edns.version !== 0)
    return answerWith(message, query, ResponseCode.BADVERS, "badvers");
  if (query.type === RecordType.OPT) return answerFault(message, ResponseCode.FORMERR);
  if (!isAnsweredClass(query.class)) return answerWith(message, query, ResponseCode.REFUSED, "refused");
  if (query.type === RecordType.AXFR || query.type === RecordType.IXFR)
    return answerWith(message, query, ResponseCode.REFUSED, "refused", ExtendedError.NOT_SUPPORTED);
  const { image } = context;
  const view = image.viewOf(context.view);
  const zone = findZone(image);
  if (zone !== undefined) return answerInZone(message, query, context, zone, view);
  const addressBytes = readReverseName(QuestionName.folded, QuestionName.bytes, address);
  if (addressBytes !== 0) {
    const target = image.findReverse(address, addressBytes, view);
    if (target !== 0) {
      const node = read32(image.heap, target + 5);
      if (image.existsIn(node, view)) return answerReverse(message, query, context, target, node);
    }
  }
  return context.outside === "refuse"
    ? answerWith(message, query, ResponseCode.REFUSED, "refused", ExtendedError.NOT_AUTHORITATIVE)
    : answerWith(message, query, ResponseCode.NXDOMAIN, "nxdomain", ExtendedError.NOT_AUTHORITATIVE);
}

/** The closest zone that the question's name is in. */
function findZone(image: ZoneImage): ImageZone | undefined {
  const { folded, bytes, labels, labelAt } = QuestionName;
  for (const zone of image.zones) {
    const start = bytes - zone.wire.length;
    if (labels < zone.labels || start < 0) continue;
    if (labels > zone.labels ? labelAt[labels - zone.labels] !== start : start !== 0) continue;
    let index = 0;
    while (index < zone.wire.length && zone.wire[index] === folded[start + index]) index++;
    if (index === zone.wire.length) return zone;
  }
  return undefined;
}

function findNode(image: ZoneImage, zone: ImageZone): number {
  const { folded, labels, labelAt, bytes } = QuestionName;
  let hash = APEX_HASH;
  for (let label = labels - zone.labels - 1; label >= 0; label--) {
    const at = labelAt[label]!;
    hash = hashLabel(hash, folded, at + 1, folded[at]!);
  }
  return image.findNode(folded, bytes - zone.wire.length, hash);
}

function answerInZone(
  message: Uint8Array,
  query: Query,
  context: ResolveContext,
  zone: ImageZone,
  view: number,
): Answer {
  const { image } = context;
  const apexAt = HEADER_BYTES + QuestionName.bytes - zone.wire.length;
  const node = findNode(image, zone);
  if (node < 0 || !image.existsIn(node, view))
    return negative(message, query, image, apexAt, ResponseCode.NXDOMAIN);
  if (node === 0) return answerApex(message, query, context, apexAt, view);
  const list = image.setListOf(node, view);
  if (list === 0 || image.heap[list] === 0)
    return negative(message, query, image, apexAt, ResponseCode.NOERROR);
  if (query.type === RecordType.ANY) return minimalAny(message, query, context);
  const set = findSet(image.heap, list, query.type);
  if (set === 0) return negative(message, query, image, apexAt, ResponseCode.NOERROR);
  writer.begin(message, query);
  const targets = query.type === RecordType.SRV ? new Map<number, number>() : undefined;
  writeAnswerSet(context, set, zone, query.edns === undefined, targets);
  if (writer.answers === 0 && !writer.truncated)
    return negative(message, query, image, apexAt, ResponseCode.NOERROR);
  if (targets !== undefined && !writer.truncated) writeTargetAddresses(context, targets, view);
  return positive(query);
}

/** The apex: SOA and NS (RFC 1034 section 4.2.1), with the name server's addresses where there are any. */
function answerApex(
  message: Uint8Array,
  query: Query,
  context: ResolveContext,
  apexAt: number,
  view: number,
): Answer {
  const { image } = context;
  if (query.type === RecordType.ANY) return minimalAny(message, query, context);
  if (query.type !== RecordType.SOA && query.type !== RecordType.NS)
    return negative(message, query, image, apexAt, ResponseCode.NOERROR);
  writer.begin(message, query);
  writer.answers = 1;
  writer.smallestTtl = image.negativeTtl;
  if (query.type === RecordType.SOA) writeSoa(image, apexAt);
  else {
    const targetAt = writeNs(image, apexAt);
    const list = image.setListOf(image.nameServerNode, view);
    for (const type of [RecordType.A, RecordType.AAAA]) {
      const set = findSet(image.heap, list, type);
      if (set !== 0) writeAdditionalSet(context, set, targetAt, type);
    }
  }
  return positive(query);
}

/** PTR of an address that a service has. The name is a zone of its own: what is around it is not ours. */
function answerReverse(
  message: Uint8Array,
  query: Query,
  context: ResolveContext,
  target: number,
  node: number,
): Answer {
  const { image } = context;
  const zone = image.canonicalZone;
  if (query.type === RecordType.ANY) return minimalAny(message, query, context);
  writer.begin(message, query);
  if (query.type !== RecordType.PTR) {
    writeReverseSoa(image, zone, HEADER_BYTES);
    if (query.type === RecordType.SOA) {
      writer.answers = 1;
      writer.smallestTtl = image.negativeTtl;
      return positive(query);
    }
    return finishNegative(query, image, ResponseCode.NOERROR);
  }
  const ttl = boundedTtl(context, image.heap[target + 2]!, read16(image.heap, target + 3));
  writer.writeRecordHeader(HEADER_BYTES, RecordType.PTR, ttl, nameBytes(image, node, zone));
  writeName(image, node, zone);
  writer.answers = 1;
  writer.smallestTtl = ttl;
  return positive(query);
}

function minimalAny(message: Uint8Array, query: Query, { image }: ResolveContext): Answer {
  writer.begin(message, query);
  writer.writeRecordHeader(HEADER_BYTES, RecordType.HINFO, image.negativeTtl, MINIMAL_ANY.length);
  writer.writeOctets(MINIMAL_ANY, 0, MINIMAL_ANY.length);
  writer.answers = 1;
  writer.smallestTtl = image.negativeTtl;
  return positive(query);
}

function positive(query: Query): Answer {
  writer.writeOpt(query, ResponseCode.NOERROR, -1);
  const bytes = writer.finish(query, ResponseCode.NOERROR, true);
  return { bytes, outcome: "answer", freshness: writer.truncated ? 0 : writer.smallestTtl };
}

/** NODATA or NXDOMAIN with the SOA that says how long it holds (RFC 2308 section 5). */
function negative(
  message: Uint8Array,
  query: Query,
  image: ZoneImage,
  apexAt: number,
  rcode: number,
): Answer {
  writer.begin(message, query);
  writeSoa(image, apexAt);
  return finishNegative(query, image, rcode);
}

function finishNegative(query: Query, image: ZoneImage, rcode: number): Answer {
  writer.authorities = 1;
  writer.writeOpt(query, rcode, -1);
  const outcome: Outcome = rcode === ResponseCode.NXDOMAIN ? "nxdomain" : "nodata";
  return { bytes: writer.finish(query, rcode, true), outcome, freshness: image.negativeTtl };
}
