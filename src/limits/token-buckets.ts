import { LRUCache } from "lru-cache";

/** The limits of a bucket. */
export interface Rate {
  /** Tokens added per second; above 0. */
  readonly perSecond: number;
  /** The most tokens in it; at least 1. */
  readonly burst: number;
}

/** The state of one bucket. */
export interface TokenBucket {
  tokens: number;
  filledAt: number;
  /** The number of times that it was empty. */
  refused: number;
}

/**
 * A token bucket for each key, up to a number, since clients choose keys. The least recently used bucket is forgotten first, and is
 * then full again.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #buckets: LRUCache<string, TokenBucket>;

  /**
   * @param most the most remembered buckets
   * @param now monotonic milliseconds
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
   * @param count at most the size of a bucket
   * @returns 0, or the seconds until there are enough
   */
  take(bucket: TokenBucket, count = 1): number {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) / 1000) * perSecond);
    bucket.filledAt = now;
    if (tokens >= count) {
      bucket.tokens = tokens - count;
      return 0;
    }
    bucket.tokens = tokens;
    bucket.refused++;
    return Math.ceil((count - tokens) / perSecond);
  }
}
