import {
  ExtendedError,
  HEADER_BYTES,
  HeaderFlag,
  RecordType,
  ResponseCode,
  readLong,
  readName,
  readRecord,
  readWord,
} from "../dns/name.ts";
import { beginAnswer } from "../resolve/message-writer.ts";
import type { Query } from "../resolve/query.ts";
import { type Answer, outcomeOf } from "../resolve/record-writer.ts";
import {
  failedAnswer,
  negativeTtl,
  TTL_TO_DATA,
  type UpstreamAnswer,
  validTtl,
  writeTtl,
} from "./upstream.ts";
import type { UpstreamReply } from "./upstream-group.ts";

/** Bounds on the TTLs of cached answers, in seconds. */
export interface TtlBounds {
  /** The smallest TTL of a record; smaller ones are raised. */
  readonly minimumTtlSeconds: number;
  readonly maximumTtlSeconds: number;
  /** The longest TTL of negative answers (RFC 2308 section 5). */
  readonly maximumNegativeTtlSeconds: number;
}

/**
 * The TTL of a failure, in seconds: long enough to end a storm, shorter than clients wait (RFC 9520 section
 * 3.2, RFC 2308 section 7).
 */
const FAILURE_SECONDS = 5;
/** The TTL of every record of a stale answer, in seconds (RFC 8767 section 4). */
const STALE_TTL_SECONDS = 30;
/** The approximate size of an object and its arrays beside the bytes of the answer. */
const OVERHEAD_BYTES = 400;

/** A failed attempt to get an answer, by `performance.now()`. */
interface FailedCheck {
  readonly at: number;
  /** Whether no upstream answered at all, rather than with an error. */
  readonly isSilence: boolean;
}

/**
 * An answer of an upstream. For each client its TTLs count down, and ID, name and OPT record are the
 * client's.
 */
export class CachedAnswer {
  /** The name of the upstream; undefined if none answered. */
  readonly upstream: string | undefined;
  /** Whether it is an error rather than an answer. */
  readonly isFailure: boolean;
  /** The last failed attempt to get a newer answer. */
  failedCheck: FailedCheck | undefined;
  /** With TTLs in their bounds. */
  readonly #given: UpstreamAnswer;
  /** The offset of each record's TTL. */
  readonly #ttlAt: Uint32Array;
  readonly #lifetimeSeconds: number;
  readonly #storedAt: number;

  /**
   * @param given the answer of an upstream. Default: no upstream answered.
   * @param now by `performance.now()`
   */
  constructor(given: UpstreamReply | undefined, bounds: TtlBounds, now: number) {
    const { rcode, truncated, extendedError, ...answer } = given?.answer ?? failedAnswer();
    // A view of a larger buffer would keep all of it.
    const bytes = new Uint8Array(answer.bytes.subarray(0, answer.recordsEnd));
    this.#given = { ...answer, bytes, rcode, truncated, extendedError };
    this.upstream = given?.upstream;
    this.#storedAt = now;
    const { ttlAt, smallestTtl } = boundTtls(this.#given, bounds);
    this.#ttlAt = ttlAt;
    this.isFailure = rcode !== ResponseCode.NOERROR && rcode !== ResponseCode.NXDOMAIN;
    // An answer without remaining records has no TTL.
    const isBlocked = extendedError === ExtendedError.BLOCKED && answer.answers + answer.authorities === 0;
    this.#lifetimeSeconds = this.isFailure || isBlocked ? FAILURE_SECONDS : truncated ? 0 : smallestTtl;
  }

  /** Whether it may be cached. */
  get isCacheable(): boolean {
    return this.#lifetimeSeconds > 0;
  }

  /** The approximate size in bytes. */
  get size(): number {
    return this.#given.bytes.length + this.#ttlAt.byteLength + OVERHEAD_BYTES;
  }

  /** The age in whole seconds. */
  ageAt(now: number): number {
    return Math.floor((now - this.#storedAt) / 1000);
  }

  isFreshAt(now: number): boolean {
    return now < this.#storedAt + this.#lifetimeSeconds * 1000;
  }

  /** Whether it may be used although it is no longer fresh (RFC 8767). */
  isStaleAt(now: number, mostMilliseconds: number): boolean {
    return !this.isFailure && now < this.#storedAt + this.#lifetimeSeconds * 1000 + mostMilliseconds;
  }

  /**
   * The answer of a resolver to a client's query: with its ID, its case of the name, and an OPT record if it
   * has one; with RA, and without AA and AD.
   */
  answer(message: Uint8Array, query: Query, now: number, isStale: boolean): Answer {
    const answer = this.#answer(message, query, now, isStale, false);
    return { ...answer, bytes: withRecursion(answer.bytes) };
  }

  /** The answer of a name server, passed on: with its AA, and without RA. */
  relay(message: Uint8Array, query: Query): Answer {
    return this.#answer(message, query, this.#storedAt, false, this.#given.authoritative);
  }

  #answer(message: Uint8Array, query: Query, now: number, isStale: boolean, authoritative: boolean) {
    const { bytes, rcode, truncated, answers, authorities, additionals } = this.#given;
    const age = this.ageAt(now);
    const writer = beginAnswer(message, query);
    writer.writeBytes(bytes, query.questionEnd, bytes.length);
    for (const at of this.#ttlAt)
      writeTtl(writer.bytes, at, isStale ? STALE_TTL_SECONDS : readLong(bytes, at) - age);
    [writer.answers, writer.authorities, writer.additionals] = [answers, authorities, additionals];
    writer.truncated = truncated;
    const isEmpty = answers + authorities === 0;
    const fresh = this.isFailure || truncated || isEmpty ? 0 : Math.max(0, this.#lifetimeSeconds - age);
    return {
      bytes: writer.finish(rcode, authoritative, this.#extendedErrorAt(age, isStale)),
      outcome: outcomeOf(rcode, answers),
      freshness: isStale ? STALE_TTL_SECONDS : fresh,
    };
  }

  #extendedErrorAt(age: number, isStale: boolean): number {
    const { rcode, extendedError } = this.#given;
    if (isStale)
      return rcode === ResponseCode.NXDOMAIN ? ExtendedError.STALE_NXDOMAIN : ExtendedError.STALE_ANSWER;
    return this.isFailure && age > 0 && extendedError < 0 ? ExtendedError.CACHED_ERROR : extendedError;
  }
}

/** Sets RA, recursion available (RFC 1035 section 4.1.1). */
export function withRecursion(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  bytes[3] = bytes[3]! | HeaderFlag.RA;
  return bytes;
}

/** Types of records that lead to an answer, and are none unless they are what the question is for. */
const ON_THE_WAY: ReadonlySet<number> = new Set([RecordType.CNAME, RecordType.DNAME, RecordType.RRSIG]);

/**
 * Limits TTLs to the bounds. The smallest one is that of the answering records, or the negative TTL (RFC 2308
 * section 5), also behind CNAME records; 0 for a negative answer without a SOA record, which must not be
 * cached.
 */
function boundTtls(
  { bytes, rcode, answers, authorities, additionals }: UpstreamAnswer,
  { minimumTtlSeconds, maximumTtlSeconds, maximumNegativeTtlSeconds }: TtlBounds,
) {
  const ttlAt = new Uint32Array(answers + authorities + additionals);
  let smallestTtl = Number.POSITIVE_INFINITY;
  let position = readName(bytes, HEADER_BYTES) + 4;
  const type = readWord(bytes, position - 4);
  const isForAlias = ON_THE_WAY.has(type) || type === RecordType.ANY;
  let hasAnswer = false;
  let hasDenial = false;
  for (let index = 0; index < ttlAt.length; index++) {
    const record = readRecord(bytes, position)!;
    position = record.end;
    ttlAt[index] = record.dataStart - TTL_TO_DATA;
    let ttl = Math.min(Math.max(validTtl(record.ttl), minimumTtlSeconds), maximumTtlSeconds);
    const isDenial = index >= answers && index < answers + authorities && record.type === RecordType.SOA;
    if (isDenial) ttl = Math.min(negativeTtl(bytes, record), maximumNegativeTtlSeconds);
    if (index < answers || isDenial) smallestTtl = Math.min(smallestTtl, ttl);
    hasDenial ||= isDenial;
    hasAnswer ||= index < answers && (isForAlias || !ON_THE_WAY.has(record.type));
    writeTtl(bytes, ttlAt[index]!, ttl);
  }
  const isPositive = hasAnswer && rcode !== ResponseCode.NXDOMAIN;
  return { ttlAt, smallestTtl: isPositive || hasDenial ? smallestTtl : 0 };
}
