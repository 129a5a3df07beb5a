/** What became of a query, for metrics and logs. */
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
  /** RFC 8484 section 5.1: the smallest TTL, or the negative TTL (RFC 2308); 0 where nothing may be cached. Seconds. */
  readonly freshness: number;
  /** Says that the name is in none of the zones that were answered from; absent otherwise. */
  readonly beyond?: Beyond;
  /**
   * Says of such a name that names below it are answered: it exists, and must not be denied (RFC 8020 section 2). Absent where that is not so.
   */
  readonly isAncestor?: true;
  /** The name in wire form, letters folded, that an alias at the end leads to and that is in no zone; absent otherwise. */
  readonly leadsTo?: Uint8Array;
}

/**
 * Where a name is that was not found in a zone: outside all of them; in one that others see but the asker does not, which is nobody else's business;
 * or it cannot be said, because nothing is loaded.
 */
export type Beyond = "outside" | "hidden" | "unknown";
