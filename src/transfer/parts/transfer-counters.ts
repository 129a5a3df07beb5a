/** Where roots and segments come from: the primary, or a cache that several secondaries share. */
export type TransferOrigin = "primary" | "cache";

/** Counts what a host has fetched since it started, for all of its secondaries together. */
export class TransferCounters {
  /** Segments, and pages of the directories. */
  readonly segments: Readonly<Record<TransferOrigin, number>> = { primary: 0, cache: 0 };
  /** Bytes of roots and segments as they were sent: of a change, those of the change. */
  readonly bytes: Readonly<Record<TransferOrigin, number>> = { primary: 0, cache: 0 };

  /** Counts one response. @param segments how many are in it */
  count(origin: TransferOrigin, segments: number, bytes: number): void {
    (this.segments as Record<TransferOrigin, number>)[origin] += segments;
    (this.bytes as Record<TransferOrigin, number>)[origin] += bytes;
  }
}
