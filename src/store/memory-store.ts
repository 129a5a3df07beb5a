import type { PatchLine } from "../snapshot/lines/patch-line.ts";
import { mergePatch } from "../snapshot/merge-patch.ts";
import { COLLECTIONS, type Entries } from "../snapshot/parse.ts";
import { type ClusterSnapshot, SNAPSHOT_FORMAT_VERSION } from "../snapshot/schema.ts";
import type { ClusterMeta, SnapshotStore } from "./store.ts";
import { StoreError } from "./store-error.ts";

/** What is held of a cluster: single values, and entries by `[collection, key]` as JSON. */
interface Held {
  meta: ClusterMeta;
  readonly values: Map<string, { readonly path: readonly string[]; readonly value: unknown }>;
}

/** A store that lives as long as the process: for tests, and hosts whose workers push again after a restart. */
export function createMemoryStore(): SnapshotStore {
  const clusters = new Map<string, Held>();
  return {
    async *load() {
      for (const [clusterId, held] of clusters)
        yield { clusterId, meta: held.meta, snapshot: snapshotOf(clusterId, held) };
    },
    async keep(clusterId, change) {
      const held =
        change.kind === "snapshot" ? { meta: change.meta, values: new Map() } : clusters.get(clusterId);
      if (held === undefined) throw StoreError.noSnapshot(clusterId);
      if (change.kind !== "lease") for (const line of change.lines) apply(held, line);
      held.meta = change.meta;
      clusters.set(clusterId, held);
    },
    async remove(clusterId) {
      clusters.delete(clusterId);
    },
    async close() {},
  };
}

function apply({ values }: Held, line: PatchLine): void {
  const path = line.slice(0, -1) as string[];
  const patch = line.at(-1);
  const name = JSON.stringify(path);
  if (patch === null) values.delete(name);
  else values.set(name, { path, value: mergePatch(values.get(name)?.value, patch) });
}

function snapshotOf(clusterId: string, { values }: Held): ClusterSnapshot {
  const tables = Object.fromEntries(COLLECTIONS.map((collection) => [collection, {}]));
  const snapshot: Record<string, unknown> = { formatVersion: SNAPSHOT_FORMAT_VERSION, clusterId, ...tables };
  for (const { path, value } of values.values())
    if (path.length === 1) snapshot[path[0]!] = value;
    else (snapshot[path[0]!] as Entries)[path[1]!] = value;
  return snapshot as ClusterSnapshot;
}
