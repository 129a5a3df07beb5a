import { isAboveReverseNames, readReverseName } from "../dns/address.ts";
import type { FoldedName } from "../dns/name.ts";
import { HEADER_BYTES, RecordType, ResponseCode } from "../dns/name.ts";
import type { Frame } from "../zone/frame.ts";
import type { PtrTarget } from "../zone/world.ts";
import { type Answer, finishNegative, minimalAny, positive } from "./answer.ts";
import { answerDesignation, type DesignatedResolver, isAboveDesignation } from "./designated-resolvers.ts";
import { answerError, answerOutOfZone, answerUnsupported } from "./error-responses.ts";
import { answerInZone, findZone, isAboveAnyZone } from "./in-zone.ts";
import { isQuery, type Query, readQuery } from "./query.ts";
import { beginRecords, boundedTtl, type RecordContext, writeReverseSoa } from "./record-writer.ts";

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
 * Answers a DNS query. Synchronous, and pure except for reused buffers.
 * @returns undefined for bytes that are not a DNS query (too short, or an answer); over HTTP that is a 400
 * @throws {MissingPart} if a part of the world has to come into memory first
 */
export function resolve(message: Uint8Array, context: ResolveContext): Answer | undefined {
  if (!isQuery(message)) return undefined;
  const query = readQuery(message);
  return "code" in query ? answerError(message, query, context) : answerQuery(message, query, context);
}

function answerQuery(message: Uint8Array, query: Query, context: ResolveContext): Answer {
  const { world } = context;
  const { frame } = world;
  const { name } = query;
  const unsupported = answerUnsupported(message, query, context);
  if (unsupported !== undefined) return unsupported;
  const view = frame.viewOf(context.view);
  const zone = findZone(frame, name, view);
  // The designated resolver's name may be in one of our zones.
  if (zone === undefined || name.bytes[1] === UNDERSCORE) {
    const designation = answerDesignation(message, query, context);
    if (designation !== undefined) return designation;
  }
  if (zone !== undefined) return answerInZone(message, query, context, zone, view);
  const addressBytes = readReverseName(name.bytes, name.length, address);
  if (addressBytes !== 0) {
    const target = world.ptrTarget(address.subarray(0, addressBytes), view);
    if (target !== undefined) return answerReverse(message, query, context, target);
  }
  const isAncestor = isAboveAnswered(frame, name, view, context.designated);
  return {
    // A later push may have this address.
    ...answerOutOfZone(message, query, context.outside, isAncestor, context),
    outOfZone: "no-zone",
    ...(isAncestor && { isAncestor }),
  };
}

/**
 * Whether a name is an ancestor of names that the gateway answers. All ancestors of reverse names count,
 * since the next push may add an address below them.
 */
function isAboveAnswered(
  frame: Frame,
  name: FoldedName,
  view: number,
  designated: DesignatedResolver | undefined,
): boolean {
  return (
    isAboveAnyZone(frame, name, view) ||
    isAboveReverseNames(name.bytes, name.length) ||
    (designated !== undefined && isAboveDesignation(name, designated))
  );
}

/**
 * Answers the reverse name of a service's address. The name is a zone of its own, because the gateway does
 * not own the zone around it.
 */
function answerReverse(
  message: Uint8Array,
  query: Query,
  context: ResolveContext,
  target: PtrTarget,
): Answer {
  const writer = beginRecords(message, query, context);
  writer.owner = HEADER_BYTES;
  writer.zone = target.zone;
  if (query.type === RecordType.ANY) return minimalAny(writer);
  if (query.type === RecordType.PTR) {
    writer.writeAnswer(RecordType.PTR, boundedTtl(context, target), target.name);
    return positive(writer);
  }
  const written = writeReverseSoa(writer);
  if (query.type !== RecordType.SOA) return finishNegative(writer, ResponseCode.NOERROR);
  writer.answers = written ? 1 : 0;
  writer.smallestTtl = Math.min(writer.smallestTtl, context.world.frame.negativeTtl);
  return positive(writer);
}
