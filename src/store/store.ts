import type { SnapshotPatch } from "../snapshot/patch.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";

/** What the gateway holds of one cluster besides its snapshot. Times are Unix milliseconds. */
export interface ClusterMeta {
  /** Grows with each accepted push; a delta names the one it builds on. */
  readonly generation: number;
  /** When the last push was accepted. */
  readonly pushedAt: number;
  /** When the lease was last renewed. */
  readonly renewedAt: number;
  /** When the lease runs out. */
  readonly expiresAt: number;
  /** The machine's uptime at `renewedAt`, in milliseconds, where it is known: the wall clock may be set before this is loaded. */
  readonly uptime?: { readonly boot: string; readonly at: number } | undefined;
}

/** A cluster as it was last acknowledged. */
export interface StoredCluster {
  readonly meta: ClusterMeta;
  readonly snapshot: ClusterSnapshot;
}

/** One change of one cluster, to be kept before it is acknowledged. */
export type StoreChange =
  | { readonly kind: "snapshot"; readonly snapshot: ClusterSnapshot; readonly meta: ClusterMeta }
  | {
      readonly kind: "patch";
      readonly patch: SnapshotPatch;
      /** The snapshot that `patch` leads to, for stores that keep whole snapshots. */
      readonly snapshot: ClusterSnapshot;
      readonly meta: ClusterMeta;
    }
  | { readonly kind: "lease"; readonly meta: ClusterMeta };

/**
 * Keeps the newest snapshot of each cluster. When `keep` resolves, the change survives the death of
 * the process; a change that was torn by it never loads.
 */
export interface SnapshotStore {
  /** Every cluster as last acknowledged, expired ones included. */
  load(): Promise<StoredCluster[]>;
  /** Keeps one change. Calls for one cluster do not overlap. */
  keep(clusterId: string, change: StoreChange): Promise<void>;
  /** Forgets a cluster. */
  remove(clusterId: string): Promise<void>;
  close(): Promise<void>;
}
