import type { AddressRange } from "../dns/address-range.ts";
import { ClientRate } from "../limits/client-rate.ts";

/** How much one client may ask of upstreams. */
export interface ClientLimits {
  /** Questions that are not in the cache; 0 for any number. */
  readonly queriesPerSecond: number;
  /** Such questions at once after a pause. */
  readonly burst: number;
  /** Addresses without a limit, such as a proxy's. */
  readonly exempt: readonly AddressRange[];
}

/** The limit of each client: an IPv4 address, or a /64, which a host has to choose addresses from (RFC 4291 section 2.5.4). */
export function createClientLimit(limits: ClientLimits, now: () => number): ClientRate {
  return new ClientRate(
    {
      ...{ perSecond: limits.queriesPerSecond, burst: limits.burst, exempt: limits.exempt },
      ...{ ipv4PrefixBits: 32, ipv6PrefixBits: 64, mostClients: 20_000 },
    },
    now,
  );
}
