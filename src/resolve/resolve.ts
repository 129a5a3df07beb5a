import { isAboveReverseNames, readPodLabel, readReverseName } from "../dns/address.ts";
import {
  ExtendedError,
  type FoldedName,
  HEADER_BYTES,
  HeaderFlag,
  isAboveZone,
  RecordType,
  ResponseCode,
  readFoldedName,
  startOfZone,
} from "../dns/name.ts";
import {
  type Frame,
  findSet,
  type Location,
  type Names,
  type PtrTarget,
  read16,
  recordsOf,
  type Zone,
} from "../zone/world.ts";
import {
  answerDesignation,
  type DesignatedResolver,
  type Designation,
  type DesignationContext,
  isAboveDesignation,
} from "./designated-resolvers.ts";
import {
  type AnswerForm,
  beginAnswer,
  longestAnswerFor,
  RECORD_HEADER_BYTES,
  type Transport,
} from "./message-writer.ts";
import { isAnsweredClass, isQuery, type Query, type QueryError, readQuery } from "./query.ts";
import {
  type Answer,
  type AnswerWriter,
  beginRecords,
  boundedTtl,
  finishNegative,
  minimalAny,
  negative,
  outcomeOf,
  positive,
  type RecordContext,
  writeAnswerSet,
  writeNs,
  writeReverseSoa,
  writeSoa,
  writeTargetAddresses,
} from "./record-writer.ts";

/** The data and settings for answers. */
export interface ResolveContext extends RecordContext {
  /** The source cluster, or the view of a locality (`localityView`); undefined for clients outside. */
  readonly view: string | undefined;
  /** The policy for names out of zone. */
  readonly outside: "refuse" | "nxdomain";
  /** The encrypted resolver that clients can discover. Default: none. */
  readonly designated?: DesignatedResolver | undefined;
}

/** What an answer is made from, beside the settings of the gateway. */
export interface AnswerContext
  extends Pick<ResolveContext, "world" | "leases" | "view" | "now" | "transport"> {
  /** Whether the answer has to say that something newer may exist that could not be had. */
  readonly stale: boolean;
}

/** The settings of all answers of a gateway. */
interface ResolverSettings extends Pick<ResolveContext, "outside"> {
  /** Default: there is no designated resolver. */
  readonly designation?: Designation | undefined;
}

const MOST_ROTATION = 0x3fffffff;
const UNDERSCORE = 0x5f;
const address = new Uint8Array(16);

/** Answers queries with the settings of a gateway. The order of records rotates with each (RFC 1794). */
export function createResolver({ outside, designation }: ResolverSettings) {
  let rotation = 0;
  return {
    resolve(message: Uint8Array, context: AnswerContext): Answer | undefined {
      rotation = (rotation + 1) & MOST_ROTATION;
      const { world, leases, view, now, transport, stale } = context;
      const designated = designation?.resolver;
      return resolve(message, { world, leases, view, now, rotation, transport, stale, outside, designated });
    },
    notReady: (message: Uint8Array, context?: DesignationContext): Answer | undefined =>
      notReady(message, { ...context, designated: designation?.resolver }),
  };
}

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

/** The most CNAME records in one answer. */
const MOST_ALIASES = 8;
const NOWHERE: readonly Location[] = [];

/**
 * Answers a name in our zones. Follows CNAME records (RFC 1034 section 4.3.2) while their targets are in our
 * zones; the target's records and rcode follow in the same answer (RFC 6604).
 */
function answerInZone(
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
function isAboveAnyZone(frame: Frame, name: FoldedName, view: number): boolean {
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

/** Answers a well-formed query with an error and no records; caches must not keep the answer. */
export function answerWith(
  message: Uint8Array,
  query: Query,
  rcode: number,
  extendedError = -1,
  form: AnswerForm = {},
): Answer {
  const bytes = beginAnswer(message, query, form).finish(rcode, false, extendedError);
  return { bytes, outcome: outcomeOf(rcode), freshness: 0 };
}

/**
 * Answers a name out of zone.
 * @param isAncestor whether it is an ancestor of names in the zones: then it exists, and NXDOMAIN would deny
 * them, too (RFC 8020 section 2)
 */
export function answerOutOfZone(
  message: Uint8Array,
  query: Query,
  policy: "refuse" | "nxdomain",
  isAncestor: boolean,
  form: AnswerForm = {},
): Answer {
  const denial = isAncestor ? ResponseCode.NOERROR : ResponseCode.NXDOMAIN;
  const rcode = policy === "refuse" ? ResponseCode.REFUSED : denial;
  return answerWith(message, query, rcode, ExtendedError.NOT_AUTHORITATIVE, form);
}

/**
 * Answers a malformed query: with its header, the error code (RFC 1035 section 4.1.1), and an OPT record if
 * the query has one (RFC 6891 section 6.1.1).
 */
function answerError(message: Uint8Array, { code, edns }: QueryError, form: AnswerForm = {}): Answer {
  const query = { id: read16(message, 0), flags: read16(message, 2), questionEnd: HEADER_BYTES, edns };
  const bytes = beginAnswer(message, query, { transport: form.transport }).finish(code, false);
  return { bytes, outcome: outcomeOf(code), freshness: 0 };
}

/**
 * Answers what no data is needed for: another version of EDNS (RFC 6891 section 6.1.3), another class, a zone
 * transfer. Undefined for other queries.
 */
function answerUnsupported(message: Uint8Array, query: Query, { transport }: AnswerForm): Answer | undefined {
  const { edns, type } = query;
  if (edns !== undefined && edns.version !== 0)
    return answerWith(message, query, ResponseCode.BADVERS, -1, { transport });
  if (type === RecordType.OPT)
    return answerError(message, { code: ResponseCode.FORMERR, edns }, { transport });
  if (!isAnsweredClass(query.class))
    return answerWith(message, query, ResponseCode.REFUSED, -1, { transport });
  if (type === RecordType.AXFR || type === RecordType.IXFR)
    return answerWith(message, query, ResponseCode.REFUSED, ExtendedError.NOT_SUPPORTED, { transport });
  return undefined;
}

/**
 * Answers while no snapshot is loaded: SERVFAIL with an Extended DNS Error (RFC 8914, Not Ready), because
 * NXDOMAIN would deny names that may exist. Undefined for bytes that are not a DNS query.
 */
export function notReady(message: Uint8Array, context: DesignationContext = {}): Answer | undefined {
  if (!isQuery(message)) return undefined;
  const query = readQuery(message);
  const { transport } = context;
  if ("code" in query) return answerError(message, query, { transport });
  const known = answerUnsupported(message, query, context) ?? answerDesignation(message, query, context);
  if (known !== undefined) return known;
  const answer = answerWith(message, query, ResponseCode.SERVFAIL, ExtendedError.NOT_READY, { transport });
  return { ...answer, outOfZone: "unknown" };
}

/** Answers SERVFAIL where the gateway itself failed. Undefined for bytes that are not a DNS query. */
export function answerFailure(message: Uint8Array, form: AnswerForm): Answer | undefined {
  if (!isQuery(message)) return undefined;
  const query = readQuery(message);
  return "code" in query
    ? answerError(message, query, form)
    : answerWith(message, query, ResponseCode.SERVFAIL, -1, form);
}

/**
 * Answers without records and with TC, so that the client repeats the query over TCP. Hardly longer than the
 * query. With AA: glibc takes an empty answer without AA and RA for a referral, and does not repeat it.
 * Undefined for bytes that are not a DNS query.
 */
export function answerTruncated(message: Uint8Array, transport: Transport): Uint8Array | undefined {
  if (!isQuery(message)) return undefined;
  return truncated(message, readQuery(message), transport);
}

/** Adapts an answer from elsewhere to the transport: replaces it with a truncated one if it is too long. */
export function fitAnswer(message: Uint8Array, answer: Answer, transport: Transport): Answer {
  const query = readQuery(message);
  if ("code" in query || answer.bytes.length <= longestAnswerFor(transport, query.edns)) return answer;
  const flags = read16(answer.bytes, 2);
  const bytes = truncated(message, query, transport, flags & 0x0f, (flags & HeaderFlag.AA) !== 0);
  bytes[3]! |= flags & HeaderFlag.RA;
  return { ...answer, bytes, freshness: 0 };
}

function truncated(
  message: Uint8Array,
  query: Query | QueryError,
  transport: Transport,
  rcode: number = ResponseCode.NOERROR,
  isAuthoritative = true,
): Uint8Array<ArrayBuffer> {
  if ("code" in query) return answerError(message, query, { transport }).bytes;
  const writer = beginAnswer(message, query, { transport });
  writer.truncated = true;
  return writer.finish(rcode, isAuthoritative);
}
