export type { Missing } from "../zone/world.ts";

/** The outcome of a query, for metrics and logs. */
export type Outcome =
  | "answer"
  | "nodata"
  | "nxdomain"
  | "refused"
  | "formerr"
  | "notimp"
  | "badvers"
  | "servfail";

/** An answer in wire format. */
export interface Answer {
  /** The DNS message; the caller owns it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly outcome: Outcome;
  /** RFC 8484 section 5.1: the smallest TTL, or the negative TTL (RFC 2308); 0 if caches must not keep the answer. Seconds. */
  readonly freshness: number;
  /** Present if the name is out of zone. */
  readonly outOfZone?: OutOfZoneReason;
  /**
   * Present if such a name is an ancestor of names in the zones: it exists, and must not be denied (RFC 8020 section 2).
   */
  readonly isAncestor?: true;
  /** The target of the last CNAME record if it is out of zone, in wire form with letters folded; absent otherwise. */
  readonly cnameTarget?: Uint8Array;
}

/**
 * Why a name is out of zone: it is in no zone; it is in a zone that exists only in other views, so upstreams must not see it;
 * or nothing is loaded, so the zones are unknown.
 */
export type OutOfZoneReason = "no-zone" | "hidden" | "unknown";
