import type { AddressRange } from "../dns/address-range.ts";
import type { ClientBuckets } from "../limits/client-rate.ts";
import type { Count } from "../limits/shared/shared-counts.ts";
import type { Rate } from "../limits/token-buckets.ts";
import type { TtlBounds } from "./cached-answer.ts";
import type { ForwardClock } from "./clock.ts";
import type { ForwardCounters } from "./forward-counters.ts";
import type { PrivateAddresses } from "./scrub/private-addresses.ts";
import type { ScrubRules } from "./scrub/scrub-rules.ts";
import type { Upstream } from "./upstreams/upstream.ts";
import type { UpstreamLimits } from "./upstreams/upstream-group.ts";
import type { OnUpstreamChange } from "./upstreams/upstream-health.ts";

/** The settings of the cache. */
export interface CacheSettings extends TtlBounds {
  /** The approximate size of all answers together. */
  readonly bytes: number;
  /** The number of access rules, which have a cache each. Default: 1. */
  readonly rules?: number;
  /** How long an expired answer may be used if no newer one is available (RFC 8767); 0 for never. */
  readonly staleSeconds: number;
}

/** The limit on the queries of one client to upstreams. */
export interface ClientLimits {
  /** Questions that are not in the cache; 0 for any number. */
  readonly queriesPerSecond: number;
  /** Such questions in one burst. */
  readonly burst: number;
  /** Addresses without a limit, such as a proxy's. */
  readonly exempt: readonly AddressRange[];
}

/** Settings and limits of forwarding. */
export interface ForwarderSettings {
  readonly limits: UpstreamLimits & {
    /** Pending questions. */
    readonly queriesInFlight: number;
  };
  readonly cache: CacheSettings;
  readonly clients: ClientLimits;
}

/** The settings of scrubbing. */
export interface ScrubSettings extends Pick<ScrubRules, "isOurs"> {
  readonly privateAddresses: PrivateAddresses;
  /** Names of upstreams that may give any name a private address. */
  readonly trustedUpstreams: ReadonlySet<string>;
}

/** The limits that forwarders in several threads have together. */
export interface ForwardShare {
  readonly buckets: (rate: Rate) => ClientBuckets;
  /** Pending questions. */
  readonly queries: Count;
}

/** The parts of a forwarder. */
export interface ForwarderDependencies {
  /** In the order of preference. */
  readonly upstreams: readonly Upstream[];
  /** Decides which records of an answer are removed. */
  readonly scrubbing: ScrubSettings;
  readonly settings: ForwarderSettings;
  readonly counters?: ForwardCounters;
  /** Called when an upstream stops answering (with the error), and when it answers again. */
  readonly onUpstreamChange?: OnUpstreamChange;
  /** Called with an error of this program while it read an answer: the query gets SERVFAIL, or a stale answer. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: ForwardClock;
  /**
   * Whether a query may wait for the exchange of another query. In a Worker it may not, since a request cannot wait for the work of
   * another one. Default: true.
   */
  readonly coalesce?: boolean;
  /** Runs work that continues after its query was answered. Default: nothing is needed, as in a process. */
  readonly background?: (work: Promise<unknown>) => void;
  /** The limits of all threads of a process. Default: this forwarder alone has them. */
  readonly shared?: ForwardShare;
}
