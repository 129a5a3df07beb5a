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
