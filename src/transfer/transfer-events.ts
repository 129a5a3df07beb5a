/** What a secondary tells logs and metrics. Times in milliseconds. */
export type TransferEvent =
  | {
      readonly event: "transferred";
      readonly contentHash: string;
      readonly bytes: number;
      /** From asking for the state to answering from the image. */
      readonly milliseconds: number;
    }
  /** The newest state could not be taken over; the next try is not before `retryIn`. */
  | { readonly event: "transfer-failed"; readonly error: unknown; readonly retryIn: number }
  /** Octets that are no image that this program can answer from. A `transfer-failed` follows. */
  | { readonly event: "image-refused"; readonly contentHash: string; readonly error: unknown }
  /** Answers say that they are stale: the primary last answered at `since` (Unix milliseconds). */
  | { readonly event: "stale"; readonly since: number }
  | { readonly event: "fresh-again" };

/** Takes a secondary's events; must not throw. */
export type OnTransferEvent = (event: TransferEvent) => void;
