import { RecordType, ResponseCode } from "../dns/name.ts";
import { type AnswerWriter, writeSoa } from "./record-writer.ts";

/** The outcomes of queries that get no records, by response code. */
const WITHOUT_RECORDS = {
  [ResponseCode.NOERROR]: "nodata",
  [ResponseCode.FORMERR]: "formerr",
  [ResponseCode.SERVFAIL]: "servfail",
  [ResponseCode.NXDOMAIN]: "nxdomain",
  [ResponseCode.NOTIMP]: "notimp",
  [ResponseCode.REFUSED]: "refused",
  [ResponseCode.BADVERS]: "badvers",
} as const;

/** The outcome of a query, for metrics and logs. */
export type Outcome = "answer" | (typeof WITHOUT_RECORDS)[keyof typeof WITHOUT_RECORDS];
export const OUTCOMES: readonly Outcome[] = ["answer", ...Object.values(WITHOUT_RECORDS)];

/** The outcome of a query by its response code. @param answers the number of records in the answer section */
export function outcomeOf(rcode: number, answers = 0): Outcome {
  if (rcode === ResponseCode.NOERROR && answers > 0) return "answer";
  return WITHOUT_RECORDS[rcode as keyof typeof WITHOUT_RECORDS] ?? "servfail";
}

/** An answer in wire format. */
export interface Answer {
  /** The DNS message; the caller owns it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly outcome: Outcome;
  /**
   * RFC 8484 section 5.1: the smallest TTL, or the negative TTL (RFC 2308); 0 if caches must not keep the
   * answer. Seconds.
   */
  readonly freshness: number;
  /** Present if the name is out of zone. */
  readonly outOfZone?: OutOfZoneReason;
  /**
   * Present if such a name is an ancestor of names in the zones: it exists, and must not be denied (RFC 8020
   * section 2).
   */
  readonly isAncestor?: true;
  /**
   * The target of the last CNAME record if it is out of zone, in wire form with letters folded; absent
   * otherwise.
   */
  readonly cnameTarget?: Uint8Array;
}

/**
 * Why a name is out of zone: it is in no zone of the view; or nothing is loaded, so the zones are unknown.
 */
type OutOfZoneReason = "no-zone" | "unknown";

// HINFO "RFC8482" "" (RFC 8482 section 4.2): the answer to ANY that resolvers understand.
const MINIMAL_ANY = Uint8Array.from([7, 82, 70, 67, 56, 52, 56, 50, 0]);

/** Answers type ANY at a name with records. It never follows a CNAME chain, so it always has room. */
export function minimalAny(writer: AnswerWriter): Answer {
  writer.writeAnswer(RecordType.HINFO, writer.context.world.frame.negativeTtl, MINIMAL_ANY);
  return positive(writer);
}

/** Ends an answer with records. */
export function positive(writer: AnswerWriter): Answer {
  const bytes = writer.finish(ResponseCode.NOERROR, true);
  return { bytes, outcome: "answer", freshness: writer.truncated ? 0 : writer.smallestTtl };
}

/**
 * Ends with NODATA or NXDOMAIN after the CNAME chain, with the SOA record that has the negative TTL (RFC
 * 2308).
 */
export function negative(writer: AnswerWriter, rcode: number): Answer {
  writeSoa(writer);
  return finishNegative(writer, rcode);
}

/** Ends a negative answer; its SOA record is written if it fits. */
export function finishNegative(writer: AnswerWriter, rcode: number): Answer {
  const { truncated, smallestTtl, context } = writer;
  writer.authorities = truncated ? 0 : 1;
  const freshness = truncated ? 0 : Math.min(smallestTtl, context.world.frame.negativeTtl);
  return { bytes: writer.finish(rcode, true), outcome: outcomeOf(rcode), freshness };
}
