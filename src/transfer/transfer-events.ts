/** What a reader reports to logs and metrics. Times in milliseconds. */
export type TransferEvent =
  /** The newest state could not be taken over; the next try is not before `retryIn`. */
  | { readonly event: "transfer-failed"; readonly error: unknown; readonly retryIn: number }
  /** Another log or other settings than before: nothing that was in memory counts any more. */
  | { readonly event: "log-replaced" }
  /** Bytes that are not the part that they should be, or that this program cannot answer from. */
  | { readonly event: "part-rejected"; readonly part: string; readonly error: unknown }
  /** A query needed a part that could not be had: its answer is old, or SERVFAIL. */
  | { readonly event: "part-unavailable"; readonly part: string; readonly error: unknown }
  /** Answers say that they are stale: the primary last answered at `since` (Unix milliseconds). */
  | { readonly event: "stale"; readonly since: number }
  | { readonly event: "fresh-again" };

/** Takes a reader's events; must not throw. */
export type OnTransferEvent = (event: TransferEvent) => void;

/** Where parts come from: the primary, or a cache that several readers share. */
export type TransferOrigin = "primary" | "cache";

/** Counts what a host has fetched since it started, for all of its readers together. */
export class TransferCounters {
  readonly parts: Readonly<Record<TransferOrigin, number>> = { primary: 0, cache: 0 };
  /** Bytes of parts as they were sent. */
  readonly bytes: Readonly<Record<TransferOrigin, number>> = { primary: 0, cache: 0 };

  /** Counts one part. */
  count(origin: TransferOrigin, bytes: number): void {
    (this.parts as Record<TransferOrigin, number>)[origin]++;
    (this.bytes as Record<TransferOrigin, number>)[origin] += bytes;
  }
}
