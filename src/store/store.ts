import type { FollowingState } from "../snapshot/held/held-tables.ts";
import type { PatchLine } from "../snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { ClusterMeta } from "./cluster-meta.ts";

export type { ClusterMeta } from "./cluster-meta.ts";

/** A cluster as it was last acknowledged. */
export interface StoredCluster {
  readonly clusterId: string;
  readonly meta: ClusterMeta;
  /** Absent where the store has `entries`: memory need not hold all of a cluster at once. */
  readonly snapshot?: ClusterSnapshot;
}

/** One change of one cluster, to be kept before it is acknowledged. Lines are valid, and are iterated once. */
export type StoreChange =
  /** The cluster has the entries of these lines alone. */
  | { readonly kind: "snapshot"; readonly lines: Iterable<PatchLine>; readonly meta: ClusterMeta }
  | { readonly kind: "patch"; readonly lines: Iterable<PatchLine>; readonly meta: ClusterMeta }
  | { readonly kind: "lease"; readonly meta: ClusterMeta };

/**
 * Keeps the newest state of each cluster. When `keep` resolves, the change survives the death of
 * the process; a change that was torn by it never loads.
 */
export interface SnapshotStore {
  /** Every cluster as last acknowledged, expired ones included: one after the other, for snapshots are large. */
  load(): AsyncIterable<StoredCluster>;
  /** Keeps one change. Calls for one cluster do not overlap. */
  keep(clusterId: string, change: StoreChange): Promise<void>;
  /** The entries of a cluster, read from the store each time. Default: the gateway holds those of its snapshot in memory. */
  entries?(clusterId: string): FollowingState;
  /** Forgets a cluster. */
  remove(clusterId: string): Promise<void>;
  close(): Promise<void>;
}
