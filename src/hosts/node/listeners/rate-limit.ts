import { LRUCache } from "lru-cache";
import {
  type AddressRange,
  isInRange,
  parseAddressRange,
  readSocketAddress,
} from "../../../dns/address-range.ts";
import type { Dns } from "../../settings/listener-config.ts";

/** What becomes of a query over UDP. */
export type RateVerdict = "answer" | "truncate" | "drop";

/** Clients of one network share a bucket: whoever forges an address can forge its neighbours'. */
const IPV4_PREFIX_OCTETS = 3;
const IPV6_PREFIX_OCTETS = 7;
/** The networks that are remembered; beyond, those that asked longest ago are forgotten, and have a full bucket again. */
const MOST_NETWORKS = 100_000;

interface Bucket {
  tokens: number;
  filledAt: number;
  /** Queries beyond the limit, for the turns of truncated answers. */
  beyond: number;
}

/**
 * Response rate limiting: a token bucket for each network of clients (/24, /56), so that answers to forged addresses do not add up to an
 * attack on who has those addresses. Beyond it every so many queries get a truncated answer, by which a real client comes over TCP,
 * where addresses cannot be forged; the others get none.
 */
export class ResponseRateLimit {
  readonly #settings: Dns["rateLimit"];
  readonly #exempt: readonly AddressRange[];
  readonly #now: () => number;
  readonly #buckets = new LRUCache<string, Bucket>({ max: MOST_NETWORKS });
  #lastAddress = "";
  #lastIsExempt = false;

  /** @param now a clock in milliseconds that never goes back */
  constructor(settings: Dns["rateLimit"], now: () => number = () => performance.now()) {
    this.#settings = settings;
    this.#exempt = settings.exempt.map((text) => parseAddressRange(text)!);
    this.#now = now;
  }

  /** Says what becomes of a query from this address, and counts it. */
  take(address: string): RateVerdict {
    if (this.#settings.answersPerSecond === 0 || this.#isExempt(address)) return "answer";
    const bucket = this.#bucketOf(address);
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return "answer";
    }
    bucket.beyond++;
    const { slip } = this.#settings;
    return slip > 0 && bucket.beyond % slip === 0 ? "truncate" : "drop";
  }

  #isExempt(address: string): boolean {
    // A resolver that forwards asks again and again from one address.
    if (address === this.#lastAddress) return this.#lastIsExempt;
    const octets = readSocketAddress(address);
    this.#lastIsExempt = octets !== undefined && this.#exempt.some((range) => isInRange(octets, range));
    this.#lastAddress = address;
    return this.#lastIsExempt;
  }

  #bucketOf(address: string): Bucket {
    const { answersPerSecond, burst } = this.#settings;
    const now = this.#now();
    const network = networkOf(address);
    const known = this.#buckets.get(network);
    if (known === undefined) {
      const bucket = { tokens: burst, filledAt: now, beyond: 0 };
      this.#buckets.set(network, bucket);
      return bucket;
    }
    known.tokens = Math.min(burst, known.tokens + ((now - known.filledAt) / 1000) * answersPerSecond);
    known.filledAt = now;
    return known;
  }
}

function networkOf(address: string): string {
  const octets = readSocketAddress(address);
  if (octets === undefined) return address;
  return octets.subarray(0, octets.length === 4 ? IPV4_PREFIX_OCTETS : IPV6_PREFIX_OCTETS).join(".");
}
