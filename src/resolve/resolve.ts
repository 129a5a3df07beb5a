import { ExtendedError, HEADER_BYTES, RecordType, ResponseCode } from "../dns/codes.ts";
import type { FoldedName } from "../dns/folded-name.ts";
import { isAboveReverseNames, readReverseName } from "../dns/reverse.ts";
import type { ZoneImage } from "../zone/image/image.ts";
import { read16, read32 } from "../zone/record-block.ts";
import type { Answer } from "./answer.ts";
import { answerDesignation, type DesignatedResolver, isAboveDesignation } from "./designated-resolvers.ts";
import { answerBadVersion, answerFault, answerOutOfZone, answerWith } from "./faults.ts";
import { findZone, isAboveAnyZone, isInAnyZone } from "./find.ts";
import { finishNegative, minimalAny, positive } from "./finish.ts";
import { answerInZone } from "./in-zone.ts";
import { beginAnswer } from "./message-writer.ts";
import { isAnsweredClass, isQuery, type Query, readPlainQuery, readQuery } from "./query.ts";
import { boundedTtl, nameBytes, type RecordContext, writeName } from "./record-writer.ts";
import { writeReverseSoa } from "./zone-records.ts";

/** The data and settings for answers. */
export interface ResolveContext extends RecordContext {
  /** The source cluster, or the view of a locality (`localityView`); undefined for clients outside. */
  readonly view: string | undefined;
  /** The policy for names out of zone. */
  readonly outside: "refuse" | "nxdomain";
  /** The encrypted resolver that clients can discover. Default: none. */
  readonly designated?: DesignatedResolver | undefined;
}

const UNDERSCORE = 0x5f;
const address = new Uint8Array(16);

/**
 * Answers a DNS query from an image. Synchronous, and pure except for a reused buffer.
 * Returns undefined for bytes that are not a DNS query (too short, or an answer); over HTTP that is a 400.
 */
export function resolve(message: Uint8Array, context: ResolveContext): Answer | undefined {
  const plain = readPlainQuery(message);
  return plain === undefined ? resolveStrictly(message, context) : answerQuery(message, plain, context);
}

/** Like `resolve`, always with the strict reader: for unusual queries, and for tests that compare both readers. */
export function resolveStrictly(message: Uint8Array, context: ResolveContext): Answer | undefined {
  if (!isQuery(message)) return undefined;
  const query = readQuery(message);
  return "code" in query ? answerFault(message, query, context) : answerQuery(message, query, context);
}

function answerQuery(message: Uint8Array, query: Query, context: ResolveContext): Answer {
  const { image, transport } = context;
  const { name } = query;
  if (query.edns !== undefined && query.edns.version !== 0) return answerBadVersion(message, query, context);
  if (query.type === RecordType.OPT)
    return answerFault(message, { code: ResponseCode.FORMERR, edns: query.edns }, context);
  if (!isAnsweredClass(query.class))
    return answerWith(message, query, ResponseCode.REFUSED, "refused", -1, { transport });
  if (query.type === RecordType.AXFR || query.type === RecordType.IXFR)
    return answerWith(message, query, ResponseCode.REFUSED, "refused", ExtendedError.NOT_SUPPORTED, {
      transport,
    });
  const view = image.viewOf(context.view);
  const zone = findZone(image, name, view);
  // The designated resolver's name may be in one of our zones.
  if (zone === undefined || name.octets[1] === UNDERSCORE) {
    const designation = answerDesignation(message, query, context);
    if (designation !== undefined) return designation;
  }
  if (zone !== undefined) return answerInZone(message, query, context, zone, view);
  const addressBytes = readReverseName(name.octets, name.bytes, address);
  if (addressBytes !== 0) {
    const target = image.findReverse(address, addressBytes, view);
    if (target !== 0) {
      const node = read32(image.heap, target + 5);
      if (image.existsIn(node, view)) return answerReverse(message, query, context, target, node);
    }
  }
  const isAncestor = isAboveAnswered(image, name, view, context.designated);
  return {
    // A newer image may have this address.
    ...answerOutOfZone(message, query, context.outside, isAncestor, context),
    beyond: isInAnyZone(image, name) ? "hidden" : "outside",
    ...(isAncestor && { isAncestor }),
  };
}

/**
 * Whether a name is an ancestor of names that the gateway answers. All ancestors of reverse names count, since the next push may add
 * an address below them.
 */
function isAboveAnswered(
  image: ZoneImage,
  name: FoldedName,
  view: number,
  designated: DesignatedResolver | undefined,
): boolean {
  return (
    isAboveAnyZone(image, name, view) ||
    isAboveReverseNames(name.octets, name.bytes) ||
    (designated !== undefined && isAboveDesignation(name, designated))
  );
}

/** Answers the reverse name of a service's address. The name is a zone of its own, because the gateway does not own the zone around it. */
function answerReverse(
  message: Uint8Array,
  query: Query,
  context: ResolveContext,
  target: number,
  node: number,
): Answer {
  const { image } = context;
  const zone = image.canonicalZones[image.treeOf(node)]!;
  const writer = beginAnswer(message, query, context);
  if (query.type === RecordType.ANY) return minimalAny(writer, query, image, HEADER_BYTES);
  if (query.type !== RecordType.PTR) {
    const written = writeReverseSoa(writer, image, zone, HEADER_BYTES);
    if (query.type === RecordType.SOA) {
      writer.answers = written ? 1 : 0;
      writer.smallestTtl = Math.min(writer.smallestTtl, image.negativeTtl);
      return positive(writer, query);
    }
    return finishNegative(writer, query, image, ResponseCode.NOERROR);
  }
  const ttl = boundedTtl(context, image.heap[target + 2]!, read16(image.heap, target + 3));
  writer.writeRecordHeader(HEADER_BYTES, RecordType.PTR, ttl, nameBytes(image, node, zone));
  writeName(writer, image, node, zone);
  writer.answers = 1;
  writer.smallestTtl = Math.min(writer.smallestTtl, ttl);
  return positive(writer, query);
}
