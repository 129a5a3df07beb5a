import type { Dns } from "../../../config/serve-config.ts";
import { parseAddressRanges } from "../../../dns/address-range.ts";
import { type ClientBuckets, ClientRate } from "../../../limits/client-rate.ts";
import type { Rate } from "../../../limits/token-buckets.ts";

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

  /**
   * @param now a monotonic clock in milliseconds
   * @param create makes the buckets. Default: this thread alone has them
   */
  constructor(
    { answersPerSecond, burst, slip, exempt }: Dns["rateLimit"],
    now?: () => number,
    create?: (rate: Rate) => ClientBuckets,
  ) {
    this.#slip = slip;
    const ranges = parseAddressRanges(exempt);
    this.#clients = new ClientRate(
      { perSecond: answersPerSecond, burst, exempt: ranges, mostClients: MOST_NETWORKS, ...NETWORK },
      now,
      create,
    );
  }

  /** Decides about a query from this address, and counts it. */
  take(address: string): RateVerdict {
    if (this.#clients.take(address) === 0) return "answer";
    return this.#slip > 0 && this.#clients.refusals(address) % this.#slip === 0 ? "truncate" : "drop";
  }
}
