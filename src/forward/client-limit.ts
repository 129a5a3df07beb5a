import { LRUCache } from "lru-cache";
import { type AddressRange, isInRange, readSocketAddress } from "../dns/address-range.ts";

/** How much one client may ask of upstreams. */
export interface ClientLimits {
  /** Questions that are not in the cache; 0 for any number. */
  readonly queriesPerSecond: number;
  /** Such questions at once after a pause. */
  readonly burst: number;
  /** Addresses without a limit, such as a proxy's. */
  readonly exempt: readonly AddressRange[];
}

/** Clients that are remembered; those forgotten first have not asked for longest and have a full bucket again. */
const MOST_CLIENTS = 20_000;
/** A host has a /64 to choose addresses from (RFC 4291 section 2.5.4). */
const IPV6_PREFIX_OCTETS = 8;

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** A token bucket for each client: an IPv4 address, or the /64 of an IPv6 address. */
export class ClientLimit {
  readonly #limits: ClientLimits;
  readonly #now: () => number;
  readonly #buckets = new LRUCache<string, Bucket>({ max: MOST_CLIENTS });

  /** @param now milliseconds that never go back */
  constructor(limits: ClientLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Takes one token.
   * @param client the address of its socket; one that is not known has no limit of its own
   * @returns 0, or after how many seconds there will be one
   */
  take(client: string | undefined): number {
    const { queriesPerSecond, burst, exempt } = this.#limits;
    if (queriesPerSecond === 0 || client === undefined) return 0;
    const octets = readSocketAddress(client);
    if (octets !== undefined && exempt.some((range) => isInRange(octets, range))) return 0;
    const now = this.#now();
    const key = octets === undefined ? client : networkOf(octets);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, filledAt: now };
      this.#buckets.set(key, bucket);
    } else {
      const filled = ((now - bucket.filledAt) / 1000) * queriesPerSecond;
      bucket.tokens = Math.min(burst, bucket.tokens + filled);
      bucket.filledAt = now;
    }
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / queriesPerSecond);
    bucket.tokens--;
    return 0;
  }
}

function networkOf(octets: Uint8Array): string {
  return octets.subarray(0, octets.length === 4 ? 4 : IPV6_PREFIX_OCTETS).join(".");
}
