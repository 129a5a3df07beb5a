import type { ServingStatus } from "../gateway/gateway-types.ts";

/**
 * What a primary reports about what it serves: `GET /api/v1/transfer/state` (docs/reference/transfer.md). Small, because a secondary
 * requests it every second; the leases of the clusters are in it. The lists of conflicts and findings stay with the primary.
 */
export interface TransferState {
  /**
   * When the primary made it, in Unix milliseconds. A source whose primary may have another clock than the secondary gives
   * all times by the secondary's.
   */
  readonly at: number;
  /** The scope that it is for, as `visibilityKey` has it; absent for everything. */
  readonly scope?: string;
  /** SOA serial of what it serves; absent where it serves nothing. */
  readonly serial?: number;
  readonly status: ServingStatus;
}

/** A root or a segment, by its hash. */
export interface NamedBytes {
  readonly hash: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A root as it was transferred. */
export interface TransferredRoot {
  /** Its document (parts/root-responses.ts). */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Segments that came with it, by the hash that they have. */
  readonly segments: readonly NamedBytes[];
}

/** What can be transferred beside states. */
export type PartKind = "root" | "segment";

/** Where a secondary has its generations from. Every request ends, and rejects, when `signal` says so. The bytes that it gives are never changed. */
export interface TransferSource {
  /**
   * The newest state. A source that keeps one for several secondaries gives none that it got more than
   * `maximumAge` milliseconds ago.
   * @throws {Error} where the primary cannot be reached
   */
  state(maximumAge: number, signal?: AbortSignal): Promise<TransferState>;
  /**
   * The root with that hash; the caller checks it.
   * @param since a root that the secondary has: the source may request the change only, with new segments
   * @returns undefined where the primary serves another one by now
   * @throws {Error} where the primary cannot be reached
   */
  root(hash: string, since?: NamedBytes, signal?: AbortSignal): Promise<TransferredRoot | undefined>;
  /** The bytes of the segment with that hash, or of the page of a directory, as `root`. `since` is what was in its place. */
  segment(
    hash: string,
    since?: NamedBytes,
    signal?: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** To be called when what `root` or `segment` gave is rejected: a source that keeps parts drops that one. */
  drop?(kind: PartKind, hash: string): void;
}
