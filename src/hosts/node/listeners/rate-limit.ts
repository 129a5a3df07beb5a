import type { Dns } from "../../../config/listeners.ts";
import { parseAddressRanges } from "../../../dns/address-range.ts";
import { ClientRate } from "../../../limits/client-rate.ts";

/** The decision about a query over UDP. */
export type RateVerdict = "answer" | "truncate" | "drop";

/** Clients of one network share a bucket: an attacker who forges an address can forge its neighbours', too. */
const NETWORK = { ipv4PrefixBits: 24, ipv6PrefixBits: 56 };
const MOST_NETWORKS = 100_000;

/**
 * Response rate limiting: a token bucket for each network of clients (/24, /56), so that answers to forged addresses do not become an
 * attack on their owners. Over the limit every n-th query gets a truncated answer, so that a real client uses TCP,
 * where addresses cannot be forged; the others get no answer.
 */
export class ResponseRateLimit {
  readonly #slip: number;
  readonly #clients: ClientRate;

  /** @param now a monotonic clock in milliseconds */
  constructor({ answersPerSecond, burst, slip, exempt }: Dns["rateLimit"], now?: () => number) {
    this.#slip = slip;
    const ranges = parseAddressRanges(exempt);
    this.#clients = new ClientRate(
      { perSecond: answersPerSecond, burst, exempt: ranges, mostClients: MOST_NETWORKS, ...NETWORK },
      now,
    );
  }

  /** Decides about a query from this address, and counts it. */
  take(address: string): RateVerdict {
    const bucket = this.#clients.bucketOf(address);
    if (bucket === undefined || this.#clients.takeOf(bucket) === 0) return "answer";
    return this.#slip > 0 && bucket.refused % this.#slip === 0 ? "truncate" : "drop";
  }
}
