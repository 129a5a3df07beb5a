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
