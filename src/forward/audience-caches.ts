import { LRUCache } from "lru-cache";
import type { CachedAnswer } from "./cached-answer.ts";

/**
 * What upstreams answered, for each audience by itself: the clients of one access rule. An age, a TTL that counts down, a cached error or a fast
 * answer would tell an audience what another one has asked. Each has the same share of the bytes, so none can fill the cache of another.
 */
export class AudienceCaches {
  readonly #share: number;
  readonly #caches = new Map<string, LRUCache<string, CachedAnswer>>();

  /**
   * @param bytes of all answers together, about
   * @param audiences how many there are
   */
  constructor(bytes: number, audiences: number) {
    this.#share = Math.max(1, Math.floor(bytes / Math.max(1, audiences)));
  }

  of(audience: string): LRUCache<string, CachedAnswer> {
    let cache = this.#caches.get(audience);
    if (cache === undefined) {
      cache = new LRUCache({
        maxSize: this.#share,
        sizeCalculation: ({ size }, key) => size + 2 * key.length,
      });
      this.#caches.set(audience, cache);
    }
    return cache;
  }

  /** Answers that are kept, and the bytes that they take, about. */
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
