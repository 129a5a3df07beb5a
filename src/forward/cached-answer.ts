import { ExtendedError, HEADER_BYTES, HeaderFlag, RecordType, ResponseCode } from "../dns/codes.ts";
import { readLong, readName, readRecord } from "../dns/wire-reader.ts";
import type { Answer } from "../resolve/answer.ts";
import { beginAnswer } from "../resolve/message-writer.ts";
import type { Query } from "../resolve/query.ts";
import { negativeTtl, outcomeOf, type UpstreamAnswer, validTtl } from "./upstreams/upstream-answer.ts";
import type { UpstreamReply } from "./upstreams/upstream-group.ts";

/** Bounds on how long answers are kept, in seconds. */
export interface TtlBounds {
  /** Smaller TTLs of records are raised to this. */
  readonly minimumTtlSeconds: number;
  readonly maximumTtlSeconds: number;
  /** For answers that say that there is nothing (RFC 2308 section 5). */
  readonly maximumNegativeTtlSeconds: number;
}

/** How long a failure is kept, in seconds: long enough to end a storm, shorter than anybody waits (RFC 9520 section 3.2, RFC 2308 section 7). */
const FAILURE_SECONDS = 5;
/** The TTL of every record of a stale answer, in seconds (RFC 8767 section 4). */
const STALE_TTL_SECONDS = 30;
/** What an object with its arrays takes beside the octets of the answer, about. */
const OVERHEAD_BYTES = 400;
const NO_RECORDS = new Uint8Array(0);

/** When somebody was asked in vain, in the milliseconds of the clock. */
export interface FailedCheck {
  readonly at: number;
  /** Whether nobody answered at all, rather than that something else than an answer was said. */
  readonly isSilence: boolean;
}

interface Kept {
  /** Header, question and records; without the OPT record. */
  readonly bytes: Uint8Array;
  readonly counts: readonly [number, number, number];
  readonly rcode: number;
  readonly extendedError: number;
  readonly isTruncated: boolean;
  /** Where each record's TTL stands in `bytes`. */
  readonly ttlAt: Uint32Array;
  readonly lifetimeSeconds: number;
  readonly isFailure: boolean;
}

/** An answer of an upstream, as often as it is asked for: its TTLs count down, and everything of the client is put in anew. */
export class CachedAnswer {
  /** Who gave it; undefined where nobody answered. */
  readonly upstream: string | undefined;
  /** The last attempt to get a newer one, which failed. */
  failedCheck: FailedCheck | undefined;
  readonly #kept: Kept;
  readonly #storedAt: number;

  private constructor(kept: Kept, upstream: string | undefined, now: number) {
    this.#kept = kept;
    this.upstream = upstream;
    this.#storedAt = now;
  }

  /** Takes over what an upstream said. @param now milliseconds of a clock that never goes back */
  static of({ answer, upstream }: UpstreamReply, bounds: TtlBounds, now: number): CachedAnswer {
    const { rcode, truncated } = answer;
    // A part of a larger buffer would keep all of it.
    const bytes = new Uint8Array(answer.bytes.subarray(0, answer.recordsEnd));
    const counts = [answer.answers, answer.authorities, answer.additionals] as const;
    const { ttlAt, smallestTtl } = boundTtls(bytes, counts, bounds);
    const isFailure = rcode !== ResponseCode.NOERROR && rcode !== ResponseCode.NXDOMAIN;
    const { extendedError } = answer;
    // An answer of which nothing was left has no TTL.
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

  /** Nobody answered. */
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

  /** Whether it says that there was no answer, whatever the reason. */
  get isFailure(): boolean {
    return this.#kept.isFailure;
  }

  /** Whether anybody may be given it later. */
  get isCacheable(): boolean {
    return this.#kept.lifetimeSeconds > 0;
  }

  /** Octets that it takes, about. */
  get size(): number {
    return this.#kept.bytes.length + this.#kept.ttlAt.byteLength + OVERHEAD_BYTES;
  }

  /** Whole seconds since it came. */
  ageAt(now: number): number {
    return Math.floor((now - this.#storedAt) / 1000);
  }

  isFreshAt(now: number): boolean {
    return now < this.#storedAt + this.#kept.lifetimeSeconds * 1000;
  }

  /** Whether it may be given though it is no longer fresh (RFC 8767). */
  isStaleAt(now: number, mostMilliseconds: number): boolean {
    const { isFailure, lifetimeSeconds } = this.#kept;
    return !isFailure && now < this.#storedAt + lifetimeSeconds * 1000 + mostMilliseconds;
  }

  /** The answer to a client's own query: its ID, its spelling of the name, an OPT record only where it sent one; RA, and neither AA nor AD. */
  answer(message: Uint8Array, query: Query, now: number, isStale: boolean): Answer {
    const { bytes, counts, rcode, isTruncated, isFailure, ttlAt, lifetimeSeconds } = this.#kept;
    const age = this.ageAt(now);
    const writer = beginAnswer(message, query);
    if (bytes.length > 0) writer.writeOctets(bytes, query.questionEnd, bytes.length);
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

/** Says that recursion is available (RFC 1035 section 4.1.1). */
export function withRecursion(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  bytes[3] = bytes[3]! | HeaderFlag.RA;
  return bytes;
}

/** An answer that is not kept, with its TTLs within bounds. */
export function withBoundedTtls(answer: UpstreamAnswer, bounds: TtlBounds): UpstreamAnswer {
  const bytes = answer.bytes.slice(0, answer.recordsEnd);
  const counts = [answer.answers, answer.authorities, answer.additionals] as const;
  const { smallestTtl } = boundTtls(bytes, counts, bounds);
  return { ...answer, bytes, freshness: Math.min(answer.freshness, smallestTtl) };
}

/**
 * Puts TTLs within their bounds. The smallest one is that of the records that answer, or the negative TTL (RFC 2308 section 5); 0 where
 * neither is there, since an answer that says nothing without a SOA record must not be kept.
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
    ttlAt[index] = record.dataStart - 6;
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

function writeTtl(bytes: Uint8Array, at: number, seconds: number): void {
  const ttl = Math.max(0, seconds);
  bytes[at] = ttl >>> 24;
  bytes[at + 1] = ttl >>> 16;
  bytes[at + 2] = ttl >>> 8;
  bytes[at + 3] = ttl;
}
