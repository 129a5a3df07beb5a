import { Tally } from "../limits/counters.ts";
import type { DropReason } from "./scrub.ts";

/**
 * The outcome of a query for a name out of zone: answered from the cache, by an upstream (alone or together
 * with an equal query), from a stale cache entry, from a locally served zone; or rejected, because its client
 * exceeds its limit, too many queries are pending, or the client may not use upstreams.
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

/** The counts of one upstream. */
interface UpstreamCount {
  /** Answers by duration: one count for each bound (not cumulative), and one for longer durations. */
  readonly buckets: Float64Array;
  /** The sum of the durations of all answers, in seconds. */
  sum: number;
  failures: number;
}

/** Counts as plain numbers; the metrics exporter reads them on demand. */
export class ForwardCounters {
  readonly results = new Tally<ForwardResult>();
  readonly upstreams = new Map<string, UpstreamCount>();
  /** Removed records of answers, by reason. */
  readonly droppedRecords = new Tally<DropReason>(["unrelated", "own-zone", "private-address"]);
  hedges = 0;

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
