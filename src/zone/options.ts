import type { Locality } from "./locality.ts";

/** A federation (federated service discovery): its name, and the zones that its services are served in. */
export interface FederationOptions {
  /** A label: the third of `<service>.<ns>.<federation>.svc.<zone>`. */
  readonly name: string;
  /** The federation zone for clients in the clusters, e.g. `federation`. */
  readonly zone?: string;
  /** The registered domain for external clients, e.g. `federation.example.com`. */
  readonly domain?: string;
}

/** A host in one of the zones: the gateway itself, where clients know it by such a name. */
export interface HostOptions {
  readonly name: string;
  readonly addresses: readonly string[];
}

/** Settings of a compilation. TTLs in seconds. */
export interface ZoneOptions {
  /**
   * Zone names in text; the first is canonical and owns PTR targets. Names below each of them answer alike,
   * with SRV targets in the zone that was asked.
   */
  readonly zones: readonly string[];
  /** TTL of A, AAAA, SRV and PTR records. */
  readonly ttl: number;
  /** Negative TTL, as SOA MINIMUM (RFC 2308). */
  readonly negativeTtl: number;
  /** SOA serial of this image. */
  readonly serial: number;
  readonly federations: readonly FederationOptions[];
  /** Places of clients outside that federation zones keep an order of shards for. */
  readonly localities: readonly Locality[];
  /** Addresses of `ns.dns.<zone>`, the zone's name server; none where nobody asks it directly. */
  readonly nameServerAddresses: readonly string[];
  /** Hosts that have address records beside the services; those in none of the zones are left out. */
  readonly hosts: readonly HostOptions[];
}

/** What is used where a setting is not given. */
export const DEFAULT_ZONE_OPTIONS: ZoneOptions = {
  zones: ["clusterset.local."],
  ttl: 5,
  negativeTtl: 5,
  serial: 1,
  federations: [],
  localities: [],
  nameServerAddresses: [],
  hosts: [],
};
