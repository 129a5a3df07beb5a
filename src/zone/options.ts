import type { Locality } from "./locality.ts";

/** A federation (federated service discovery): its name and the zones of its services. */
export interface FederationOptions {
  /** A label: the third of `<service>.<ns>.<federation>.svc.<zone>`. */
  readonly name: string;
  /** The federation zone for clients in the clusters, e.g. `federation`. */
  readonly zone?: string;
  /** The registered domain for external clients, e.g. `federation.example.com`. */
  readonly domain?: string;
}

/** A host in one of the zones: the gateway itself, if its name is in a zone. */
export interface HostOptions {
  readonly name: string;
  readonly addresses: readonly string[];
}

/** Settings of a compilation. TTLs in seconds. */
export interface ZoneOptions {
  /**
   * Zone names in text; the first is canonical and owns PTR targets. All zones have the same names,
   * with SRV targets in the zone of the query.
   */
  readonly zones: readonly string[];
  /** TTL of A, AAAA, SRV and PTR records. */
  readonly ttl: number;
  /** Negative TTL, as SOA MINIMUM (RFC 2308). */
  readonly negativeTtl: number;
  /** SOA serial of this generation. */
  readonly serial: number;
  readonly federations: readonly FederationOptions[];
  /** Localities of clients outside; federation zones keep an order of shards for each. */
  readonly localities: readonly Locality[];
  /** Addresses of `ns.dns.<zone>`, the zone's name server; none if it has no plain DNS. */
  readonly nameServerAddresses: readonly string[];
  /** Hosts that have address records in addition to the services; hosts out of zone are left out. */
  readonly hosts: readonly HostOptions[];
}

/** The defaults of the settings. */
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

/** REFRESH, RETRY and EXPIRE of our SOA records in seconds (RFC 1912 section 2.2). They have no effect: the gateway answers no zone transfers. */
export const SOA_TIMERS = { refresh: 7200, retry: 1800, expire: 86400 } as const;
