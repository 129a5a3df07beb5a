import type { AddressRange } from "../dns/address-range.ts";
import type { TtlBounds } from "./cached-answer.ts";
import type { ForwardClock } from "./clock.ts";
import type { ForwardCounters } from "./forward-counters.ts";
import type { PrivateAddresses } from "./scrub/private-addresses.ts";
import type { ScrubRules } from "./scrub/scrub-rules.ts";
import type { Upstream } from "./upstreams/upstream.ts";
import type { UpstreamLimits } from "./upstreams/upstream-group.ts";
import type { OnUpstreamChange } from "./upstreams/upstream-health.ts";

/** How answers of upstreams are kept. */
export interface CacheSettings extends TtlBounds {
  /** Octets of all answers together, about. */
  readonly bytes: number;
  /** How many audiences share them. Default: 1. */
  readonly audiences?: number;
  /** How long an answer may be given after its TTL where no newer one can be had (RFC 8767); 0 for not at all. */
  readonly staleSeconds: number;
}

/** How much one client may ask of upstreams. */
export interface ClientLimits {
  /** Questions that are not in the cache; 0 for any number. */
  readonly queriesPerSecond: number;
  /** Such questions at once after a pause. */
  readonly burst: number;
  /** Addresses without a limit, such as a proxy's. */
  readonly exempt: readonly AddressRange[];
}

/** Bounds and settings of forwarding. */
export interface ForwarderSettings {
  readonly limits: UpstreamLimits & {
    /** Questions that wait for upstreams at the same time. */
    readonly queriesInFlight: number;
  };
  readonly cache: CacheSettings;
  readonly clients: ClientLimits;
}

/** What of the answers of upstreams is not believed. */
export interface ScrubSettings extends Pick<ScrubRules, "isOurs"> {
  readonly privateAddresses: PrivateAddresses;
  /** Names of upstreams that may give any name a private address. */
  readonly trustedUpstreams: ReadonlySet<string>;
}

/** What a forwarder is put together from. */
export interface ForwarderDependencies {
  /** In the order of preference. */
  readonly upstreams: readonly Upstream[];
  /** What of an answer is not believed. */
  readonly scrubbing: ScrubSettings;
  readonly settings: ForwarderSettings;
  readonly counters?: ForwardCounters;
  /** Told when an upstream stops answering (with the error), and when it answers again. */
  readonly onUpstreamChange?: OnUpstreamChange;
  readonly clock?: ForwardClock;
  /**
   * Whether a query may wait for the exchange that another one has started. Not where a request cannot wait for what belongs to
   * another one, as in a Worker outside of Durable Objects. Default: true.
   */
  readonly coalesce?: boolean;
  /** Takes what goes on when its query has its answer already. Default: it just goes on, as in a process that lives. */
  readonly background?: (work: Promise<unknown>) => void;
}
