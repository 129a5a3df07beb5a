import type { PartKind } from "./transfer-state.ts";

/** What a secondary reports to logs and metrics. Times in milliseconds. */
export type TransferEvent =
  | {
      readonly event: "transferred";
      /** That of the root. */
      readonly rootHash: string;
      /** Segments, and pages of the directories, that were loaded for it. */
      readonly segments: number;
      /** Bytes of the root and of those segments; a source that requests changes only transfers fewer. */
      readonly bytes: number;
      /** From requesting the state to answering from the generation. */
      readonly milliseconds: number;
    }
  /** The newest state could not be taken over; the next try is not before `retryIn`. */
  | { readonly event: "transfer-failed"; readonly error: unknown; readonly retryIn: number }
  /** Bytes that are not the part that they should be, or that this program cannot answer from. */
  | {
      readonly event: "part-rejected";
      readonly part: PartKind;
      readonly hash: string;
      readonly error: unknown;
    }
  /** A query needed a segment that could not be had: it got SERVFAIL. */
  | { readonly event: "segment-unavailable"; readonly hash: string; readonly error: unknown }
  /** Answers say that they are stale: the primary last answered at `since` (Unix milliseconds). */
  | { readonly event: "stale"; readonly since: number }
  | { readonly event: "fresh-again" };

/** Takes a secondary's events; must not throw. */
export type OnTransferEvent = (event: TransferEvent) => void;
