import { snapshotOf as stateOf } from "../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { ClusterMeta, SnapshotStore, StoreChange } from "../../src/store/store.ts";
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

/** A cluster with all that a store has of it. */
interface LoadedCluster {
  readonly meta: ClusterMeta;
  readonly snapshot: ClusterSnapshot;
}

/** What is loaded, by cluster id. */
export async function loadAll(store: SnapshotStore): Promise<Record<string, LoadedCluster>> {
  return Object.fromEntries((await listAll(store)).map((cluster) => [cluster.snapshot.clusterId, cluster]));
}

/** All clusters of a store, in the order in which it loads them. */
export async function listAll(store: SnapshotStore): Promise<LoadedCluster[]> {
  const listed: LoadedCluster[] = [];
  for await (const { clusterId, meta, snapshot } of store.load())
    listed.push({ meta, snapshot: snapshot ?? stateOf(clusterId, store.entries!(clusterId)) });
  return listed;
}
