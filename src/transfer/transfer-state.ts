import type { ServingStatus } from "../gateway/gateway-types.ts";

/**
 * What a primary says of the image that it serves: `GET /api/v1/transfer/state` (docs/reference/transfer.md). Small, because a secondary
 * asks for it every second; the leases of the image's clusters are in it. The lists of conflicts and findings stay
 * with the primary.
 */
export interface TransferState {
  /**
   * When the primary said this, in Unix milliseconds. A source whose primary may have another clock than the secondary gives
   * all times by the secondary's.
   */
  readonly at: number;
  /** The scope that it is for, as `visibilityKey` has it; absent for everything. */
  readonly scope?: string;
  readonly status: ServingStatus;
}

/** Where a secondary has its image from. Both give up, and reject, when `signal` says so. */
export interface TransferSource {
  /**
   * The newest state. A source that keeps one for several secondaries gives none that it got more than
   * `maximumAge` milliseconds ago.
   * @throws {Error} where the primary cannot be reached
   */
  state(maximumAge: number, signal?: AbortSignal): Promise<TransferState>;
  /**
   * The octets of the image with that content hash; the caller owns them.
   * @returns undefined where the primary serves another one by now
   * @throws {Error} where the primary cannot be reached
   */
  image(contentHash: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Told that what `image` gave is no good: a source that keeps images drops that one. */
  drop?(contentHash: string): void;
}

/** A source whose images can be passed on without being read. */
export interface OpenTransferSource extends TransferSource {
  /**
   * The image with that content hash as a response's body, of the length that the response says.
   * @returns undefined where the primary serves another one by now
   * @throws {Error} where the primary cannot be reached
   */
  openImage(contentHash: string, signal?: AbortSignal): Promise<Response | undefined>;
}
