import { ExtendedError, HEADER_BYTES, HeaderFlag, RecordType, ResponseCode } from "../dns/name.ts";
import { readLong, readName, readRecord } from "../dns/wire-reader.ts";
import type { Answer } from "../resolve/answer.ts";
import { beginAnswer } from "../resolve/message-writer.ts";
import type { Query } from "../resolve/query.ts";
import { negativeTtl, outcomeOf, TTL_TO_DATA, type UpstreamAnswer, validTtl, writeTtl } from "./upstream.ts";
import type { UpstreamReply } from "./upstream-group.ts";

/** Bounds on the TTLs of cached answers, in seconds. */
export interface TtlBounds {
  /** The smallest TTL of a record; smaller ones are raised. */
  readonly minimumTtlSeconds: number;
  readonly maximumTtlSeconds: number;
  /** The longest TTL of negative answers (RFC 2308 section 5). */
  readonly maximumNegativeTtlSeconds: number;
}

/** The TTL of a failure, in seconds: long enough to end a storm, shorter than clients wait (RFC 9520 section 3.2, RFC 2308 section 7). */
const FAILURE_SECONDS = 5;
/** The TTL of every record of a stale answer, in seconds (RFC 8767 section 4). */
const STALE_TTL_SECONDS = 30;
/** The approximate size of an object and its arrays beside the bytes of the answer. */
const OVERHEAD_BYTES = 400;
const NO_RECORDS = new Uint8Array(0);

/** A failed attempt to get an answer, in milliseconds of the clock. */
interface FailedCheck {
  readonly at: number;
  /** Whether no upstream answered at all, rather than with an error. */
  readonly isSilence: boolean;
}

interface Kept {
  /** Header, question and records; without the OPT record. */
  readonly bytes: Uint8Array;
  readonly counts: readonly [number, number, number];
  readonly rcode: number;
  readonly extendedError: number;
  readonly isTruncated: boolean;
  /** The offset of each record's TTL in `bytes`. */
  readonly ttlAt: Uint32Array;
  readonly lifetimeSeconds: number;
  readonly isFailure: boolean;
}

/** A cached answer of an upstream. For each client its TTLs count down, and ID, name and OPT record are the client's. */
export class CachedAnswer {
  /** The name of the upstream; undefined if none answered. */
  readonly upstream: string | undefined;
  /** The last failed attempt to get a newer answer. */
  failedCheck: FailedCheck | undefined;
  readonly #kept: Kept;
  readonly #storedAt: number;

  private constructor(kept: Kept, upstream: string | undefined, now: number) {
    this.#kept = kept;
    this.upstream = upstream;
    this.#storedAt = now;
  }

  /** Stores the reply of an upstream. @param now milliseconds of a monotonic clock */
  static of({ answer, upstream }: UpstreamReply, bounds: TtlBounds, now: number): CachedAnswer {
    const { rcode, truncated } = answer;
    // A view of a larger buffer would keep all of it.
    const bytes = new Uint8Array(answer.bytes.subarray(0, answer.recordsEnd));
    const counts = [answer.answers, answer.authorities, answer.additionals] as const;
    const { ttlAt, smallestTtl } = boundTtls(bytes, counts, bounds);
    const isFailure = rcode !== ResponseCode.NOERROR && rcode !== ResponseCode.NXDOMAIN;
    const { extendedError } = answer;
    // An answer without remaining records has no TTL.
    const isBlocked = extendedError === ExtendedError.BLOCKED && counts[0] + counts[1] === 0;
    const lifetimeSeconds = isFailure || isBlocked ? FAILURE_SECONDS : truncated ? 0 : smallestTtl;
    const kept = {
      bytes,
      counts,
      rcode,
      extendedError,
      isTruncated: truncated,
      ttlAt,
      lifetimeSeconds,
      isFailure,
    };
    return new CachedAnswer(kept, upstream, now);
  }

  /** An answer for a query that no upstream answered. */
  static failed(now: number): CachedAnswer {
    const kept: Kept = {
      bytes: NO_RECORDS,
      counts: [0, 0, 0],
      rcode: ResponseCode.SERVFAIL,
      extendedError: ExtendedError.NETWORK_ERROR,
      isTruncated: false,
      ttlAt: new Uint32Array(0),
      lifetimeSeconds: FAILURE_SECONDS,
      isFailure: true,
    };
    return new CachedAnswer(kept, undefined, now);
  }

  /** Whether it is an error rather than an answer. */
  get isFailure(): boolean {
    return this.#kept.isFailure;
  }

  /** Whether it may be cached. */
  get isCacheable(): boolean {
    return this.#kept.lifetimeSeconds > 0;
  }

  /** The approximate size in bytes. */
  get size(): number {
    return this.#kept.bytes.length + this.#kept.ttlAt.byteLength + OVERHEAD_BYTES;
  }

  /** The age in whole seconds. */
  ageAt(now: number): number {
    return Math.floor((now - this.#storedAt) / 1000);
  }

  isFreshAt(now: number): boolean {
    return now < this.#storedAt + this.#kept.lifetimeSeconds * 1000;
  }

  /** Whether it may be used although it is no longer fresh (RFC 8767). */
  isStaleAt(now: number, mostMilliseconds: number): boolean {
    const { isFailure, lifetimeSeconds } = this.#kept;
    return !isFailure && now < this.#storedAt + lifetimeSeconds * 1000 + mostMilliseconds;
  }

  /** The answer to a client's query: with its ID, its case of the name, and an OPT record if it has one; with RA, and without AA and AD. */
  answer(message: Uint8Array, query: Query, now: number, isStale: boolean): Answer {
    const { bytes, counts, rcode, isTruncated, isFailure, ttlAt, lifetimeSeconds } = this.#kept;
    const age = this.ageAt(now);
    const writer = beginAnswer(message, query);
    if (bytes.length > 0) writer.writeBytes(bytes, query.questionEnd, bytes.length);
    for (const at of ttlAt)
      writeTtl(writer.bytes, at, isStale ? STALE_TTL_SECONDS : readLong(bytes, at) - age);
    [writer.answers, writer.authorities, writer.additionals] = counts;
    writer.truncated = isTruncated;
    writer.writeOpt(query, rcode, this.#extendedErrorAt(age, isStale));
    const answer = withRecursion(writer.finish(query, rcode, false));
    const isEmpty = counts[0] + counts[1] === 0;
    const fresh = isFailure || isTruncated || isEmpty ? 0 : Math.max(0, lifetimeSeconds - age);
    return {
      bytes: answer,
      outcome: outcomeOf(rcode, counts[0]),
      freshness: isStale ? STALE_TTL_SECONDS : fresh,
    };
  }

  #extendedErrorAt(age: number, isStale: boolean): number {
    const { rcode, extendedError, isFailure } = this.#kept;
    if (isStale)
      return rcode === ResponseCode.NXDOMAIN ? ExtendedError.STALE_NXDOMAIN : ExtendedError.STALE_ANSWER;
    return isFailure && age > 0 && extendedError < 0 ? ExtendedError.CACHED_ERROR : extendedError;
  }
}

/** Sets RA, recursion available (RFC 1035 section 4.1.1). */
export function withRecursion(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  bytes[3] = bytes[3]! | HeaderFlag.RA;
  return bytes;
}

/** An answer that is not cached, with its TTLs limited to the bounds. */
export function withBoundedTtls(answer: UpstreamAnswer, bounds: TtlBounds): UpstreamAnswer {
  const bytes = answer.bytes.slice(0, answer.recordsEnd);
  const counts = [answer.answers, answer.authorities, answer.additionals] as const;
  const { smallestTtl } = boundTtls(bytes, counts, bounds);
  return { ...answer, bytes, freshness: Math.min(answer.freshness, smallestTtl) };
}

/**
 * Limits TTLs to the bounds. The smallest one is that of the answering records, or the negative TTL (RFC 2308 section 5); 0 without
 * either, since a negative answer without a SOA record must not be cached.
 */
function boundTtls(
  bytes: Uint8Array,
  counts: readonly [number, number, number],
  bounds: TtlBounds,
): { readonly ttlAt: Uint32Array; readonly smallestTtl: number } {
  const { minimumTtlSeconds, maximumTtlSeconds, maximumNegativeTtlSeconds } = bounds;
  const ttlAt = new Uint32Array(counts[0] + counts[1] + counts[2]);
  let smallestTtl = Number.POSITIVE_INFINITY;
  let position = readName(bytes, HEADER_BYTES) + 4;
  for (let index = 0; index < ttlAt.length; index++) {
    const record = readRecord(bytes, position)!;
    position = record.end;
    ttlAt[index] = record.dataStart - TTL_TO_DATA;
    let ttl = Math.min(Math.max(validTtl(record.ttl), minimumTtlSeconds), maximumTtlSeconds);
    const isAuthority = index >= counts[0] && index < counts[0] + counts[1];
    if (isAuthority && record.type === RecordType.SOA)
      ttl = Math.min(negativeTtl(bytes, record), maximumNegativeTtlSeconds);
    if (index < counts[0] || (isAuthority && record.type === RecordType.SOA))
      smallestTtl = Math.min(smallestTtl, ttl);
    writeTtl(bytes, ttlAt[index]!, ttl);
  }
  return { ttlAt, smallestTtl: Number.isFinite(smallestTtl) ? smallestTtl : 0 };
}
