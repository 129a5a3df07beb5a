import { LRUCache } from "lru-cache";

/** How much may be taken of a bucket. */
export interface Rate {
  /** How fast it is filled; above 0. */
  readonly perSecond: number;
  /** How much it holds; at least 1. */
  readonly burst: number;
}

/** What is left for one of those that are counted. */
export interface TokenBucket {
  tokens: number;
  filledAt: number;
  /** How often it was empty. */
  refused: number;
}

/**
 * A token bucket for each key, as many as fit: who took longest ago is forgotten first, and has a full bucket again. Strangers choose keys,
 * so their number has to be bounded.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #buckets: LRUCache<string, TokenBucket>;

  /**
   * @param most buckets that are kept
   * @param now milliseconds that never go back
   */
  constructor(rate: Rate, most: number, now: () => number) {
    this.#rate = rate;
    this.#now = now;
    this.#buckets = new LRUCache({ max: most });
  }

  /** The bucket of a key. */
  of(key: string): TokenBucket {
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    const bucket = { tokens: this.#rate.burst, filledAt: this.#now(), refused: 0 };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /**
   * Takes tokens.
   * @param count at most what a bucket holds
   * @returns 0, or after how many seconds there will be as many
   */
  take(bucket: TokenBucket, count = 1): number {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) / 1000) * perSecond);
    bucket.filledAt = now;
    if (tokens >= count || count === 0) {
      bucket.tokens = tokens - count;
      return 0;
    }
    bucket.tokens = tokens;
    bucket.refused++;
    return Math.ceil((count - tokens) / perSecond);
  }

  /** Takes tokens that there may not be: the bucket owes them, and nothing can be taken until they are filled in. */
  owe(bucket: TokenBucket, count: number): void {
    this.take(bucket, 0);
    bucket.tokens -= count;
  }
}
