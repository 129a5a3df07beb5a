/** Why a push is not taken although it is well formed. */
export type PushRefusal =
  | "CLUSTER_ID_MISMATCH"
  | "LEASE_OUT_OF_RANGE"
  | "TOO_MANY_CLUSTERS"
  | "TOO_MANY_NAMESPACES"
  | "SNAPSHOT_TOO_LARGE";

/** A push that is beyond the gateway's bounds, or not meant for the cluster that it names. */
export class PushRefused extends Error {
  readonly code: PushRefusal;

  constructor(code: PushRefusal, message: string) {
    super(message);
    this.code = code;
  }
}
