import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { ClusterMeta, SnapshotStore, StoreChange, StoredCluster } from "../../src/store/store.ts";
import { linesOf } from "../snapshot/changes.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";

/** The meta of a generation, with times that differ. */
export function metaOf(generation: number, expiresAt = generation + 60_000): ClusterMeta {
  return { generation, pushedAt: generation, renewedAt: generation, expiresAt };
}

/** A whole state, as a full push has it. */
export function wholeOf(snapshot: ClusterSnapshot, meta: ClusterMeta): StoreChange {
  return { kind: "snapshot", lines: [...linesOf(snapshot)], meta };
}

/** The change from one kept cluster to the next, as the gateway would make it. */
export function patchTo(from: ClusterSnapshot, to: ClusterSnapshot, meta: ClusterMeta): StoreChange {
  return { kind: "patch", lines: [...linesOf(diffSnapshots(from, to) ?? {})], meta };
}

/** A snapshot of `clusterId` by which generation `generation` is recognized. */
export function snapshotOf(clusterId: string, generation: number): ClusterSnapshot {
  return { ...shopSnapshot(clusterId), topology: { region: `generation-${generation}` } };
}

/** What is loaded, by cluster id. */
export async function loadAll(store: SnapshotStore): Promise<Record<string, StoredCluster>> {
  return Object.fromEntries((await listAll(store)).map((cluster) => [cluster.snapshot.clusterId, cluster]));
}

/** All clusters of a store, in the order in which it loads them. */
export async function listAll(store: SnapshotStore): Promise<StoredCluster[]> {
  const listed: StoredCluster[] = [];
  for await (const cluster of store.load()) listed.push(cluster);
  return listed;
}
