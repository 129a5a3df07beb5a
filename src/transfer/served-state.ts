import { LeaseTables } from "../gateway/leases/lease-tables.ts";
import type { Generation } from "../zone/generation/generation.ts";
import type { TransferState } from "./transfer-state.ts";

/** What is answered from: one state of the primary, with the generation that it names. */
export interface ServedState {
  readonly state: TransferState;
  /** When the primary reported it, in Unix milliseconds. */
  readonly asOf: number;
  /** Undefined where the primary is not ready. */
  readonly generation: Generation | undefined;
  readonly leases: LeaseTables;
  readonly clusters: ReadonlySet<string>;
}

export function servedState(
  state: TransferState,
  asOf: number,
  generation: Generation | undefined,
): ServedState {
  const expiresAt = new Map(state.status.clusters.map((cluster) => [cluster.clusterId, cluster.expiresAt]));
  return {
    state,
    asOf,
    generation,
    leases: new LeaseTables((clusterId) => expiresAt.get(clusterId)),
    clusters: new Set(expiresAt.keys()),
  };
}
