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
}
