import type { ServingStatus } from "../gateway/gateway-types.ts";

/**
 * What a primary says of the image that it serves: `GET /api/v1/transfer/state` (docs/transfer.md). Small, because a secondary
 * asks for it every few seconds; the leases of the image's clusters are in it. The lists of conflicts and findings stay
 * with the primary.
 */
export interface TransferState {
  /** When the primary said this, in Unix milliseconds. */
  readonly at: number;
  readonly status: ServingStatus;
}

/** Where a secondary has its image from. */
export interface TransferSource {
  /**
   * The newest state, not older than `maximumAge` milliseconds where the source keeps one for several secondaries.
   * @throws {Error} where the primary cannot be reached
   */
  state(maximumAge: number): Promise<TransferState>;
  /**
   * The bytes of the image with that content hash.
   * @returns undefined where the primary serves another one by now
   * @throws {Error} where the primary cannot be reached
   */
  image(contentHash: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
}
