import { LRUCache } from "lru-cache";
import type { CachedAnswer } from "./cached-answer.ts";

/**
 * The answers of upstreams, in one cache for the clients of each access rule. From an age, a TTL that counts down, a cached error or a fast
 * answer the clients of one rule could learn what others have queried. All caches have the same share of the bytes, so the clients of one rule
 * cannot fill the cache of another.
 */
export class RuleCaches {
  readonly #share: number;
  readonly #caches = new Map<string, LRUCache<string, CachedAnswer>>();

  /**
   * @param bytes the approximate size of all answers together
   * @param rules the number of access rules
   */
  constructor(bytes: number, rules: number) {
    this.#share = Math.max(1, Math.floor(bytes / Math.max(1, rules)));
  }

  /** The cache of the access rule with this name. */
  of(rule: string): LRUCache<string, CachedAnswer> {
    let cache = this.#caches.get(rule);
    if (cache === undefined) {
      cache = new LRUCache({
        maxSize: this.#share,
        sizeCalculation: ({ size }, key) => size + 2 * key.length,
      });
      this.#caches.set(rule, cache);
    }
    return cache;
  }

  /** The number of cached answers, and their approximate size. */
  get held(): { readonly answers: number; readonly bytes: number } {
    let answers = 0;
    let bytes = 0;
    for (const cache of this.#caches.values()) {
      answers += cache.size;
      bytes += cache.calculatedSize;
    }
    return { answers, bytes };
  }
}
