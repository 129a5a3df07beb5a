import { ExtendedError, HEADER_BYTES, HeaderFlag, RecordType, ResponseCode } from "../dns/name.ts";
import { read16 } from "../zone/record-block.ts";
import { type Answer, outcomeOf } from "./answer.ts";
import { answerDesignation, type DesignationContext } from "./designated-resolvers.ts";
import { type AnswerForm, beginAnswer, longestAnswerFor, type Transport } from "./message-writer.ts";
import { isAnsweredClass, isQuery, type Query, type QueryError, readQuery } from "./query.ts";

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
export function answerError(message: Uint8Array, { code, edns }: QueryError, form: AnswerForm = {}): Answer {
  const query = { id: read16(message, 0), flags: read16(message, 2), questionEnd: HEADER_BYTES, edns };
  const bytes = beginAnswer(message, query, { transport: form.transport }).finish(code, false);
  return { bytes, outcome: outcomeOf(code), freshness: 0 };
}

/**
 * Answers what no data is needed for: another version of EDNS (RFC 6891 section 6.1.3), another class, a zone
 * transfer. Undefined for other queries.
 */
export function answerUnsupported(
  message: Uint8Array,
  query: Query,
  { transport }: AnswerForm,
): Answer | undefined {
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
