import type { DropReason } from "./scrub/judge-records.ts";

/**
 * What became of a query for a name outside our zones: answered from the cache, by an upstream (or along with a query that
 * waited for the same), from the cache though it was too old, from a locally served zone; or not, since its client asks too much, too many wait
 * already, or the client may not use upstreams.
 */
export type ForwardResult =
  | "hit"
  | "miss"
  | "coalesced"
  | "stale"
  | "local"
  | "limited"
  | "overloaded"
  | "prohibited";

/** Upper bounds of the histogram of exchanges with upstreams, in seconds. */
export const EXCHANGE_BOUNDS: readonly number[] = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/** What one upstream did. */
export interface UpstreamCount {
  /** Answers by duration: one count for each bound (not cumulative), and one for those that took longer. */
  readonly buckets: Float64Array;
  /** Seconds of all answers together. */
  sum: number;
  failures: number;
}

/** Counts as plain numbers; whoever exports metrics reads them when asked. */
export class ForwardCounters {
  readonly results = new Map<ForwardResult, number>();
  readonly upstreams = new Map<string, UpstreamCount>();
  /** Records of answers that were left out, by reason. */
  readonly droppedRecords = new Map<DropReason, number>();
  hedges = 0;

  dropped(reason: DropReason, count: number): void {
    this.droppedRecords.set(reason, (this.droppedRecords.get(reason) ?? 0) + count);
  }

  count(result: ForwardResult): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
  }

  /** Counts one exchange with an upstream. */
  exchanged(upstream: string, milliseconds: number, error: Error | undefined): void {
    let counts = this.upstreams.get(upstream);
    if (counts === undefined) {
      counts = { buckets: new Float64Array(EXCHANGE_BOUNDS.length + 1), sum: 0, failures: 0 };
      this.upstreams.set(upstream, counts);
    }
    if (error !== undefined) {
      counts.failures++;
      return;
    }
    const seconds = milliseconds / 1000;
    let bucket = 0;
    while (bucket < EXCHANGE_BOUNDS.length && seconds > EXCHANGE_BOUNDS[bucket]!) bucket++;
    counts.buckets[bucket] = counts.buckets[bucket]! + 1;
    counts.sum += seconds;
  }
}
