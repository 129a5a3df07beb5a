import type { SnapshotStore, StoredCluster } from "./store.ts";
import { StoreError } from "./store-error.ts";

/** A store that lives as long as the process: for tests, demos, and hosts whose workers push again after a restart. */
export function createMemoryStore(): SnapshotStore {
  const clusters = new Map<string, StoredCluster>();
  return {
    async load() {
      return [...clusters.values()];
    },
    async keep(clusterId, change) {
      const snapshot = change.kind === "lease" ? clusters.get(clusterId)?.snapshot : change.snapshot;
      if (snapshot === undefined) throw StoreError.noSnapshot(clusterId);
      clusters.set(clusterId, { meta: change.meta, snapshot });
    },
    async remove(clusterId) {
      clusters.delete(clusterId);
    },
    async close() {},
  };
}
