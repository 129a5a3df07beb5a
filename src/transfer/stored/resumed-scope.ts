import type { ClusterStatus, ServingStatus } from "../../gateway/gateway-types.ts";
import type { ClusterMeta } from "../../store/cluster-meta.ts";
import type { ScopeState } from "../primary.ts";
import type { StoredGeneration } from "./stored-generations.ts";

/** What a stored generation is served with. Times are those of the gateway's clock. */
export interface ResumedWith {
  /** The clusters as they are stored now, by id. */
  readonly metas: () => ReadonlyMap<string, ClusterMeta>;
  /** After how many milliseconds a change that is not in the answers makes them stale. */
  readonly mostBehind: number;
  /** Whether every stored cluster exists in the scope. Otherwise those of the generation do, and of others it is not known. */
  readonly isEverything: boolean;
  readonly now: () => number;
}

const NOT_READY: ServingStatus = {
  ...{ ready: false, rootHash: undefined, generationBytes: 0, services: 0, clusters: [] },
};

/**
 * A stored generation as what a scope serves until the gateway has loaded its snapshots and compiled them. Leases are those of the store. A push that
 * was stored and not compiled was not acknowledged: it counts as waiting since then. A generation without any live cluster is not served.
 */
export function resumedScope(stored: StoredGeneration, resumed: ResumedWith): ScopeState {
  const { generation, generationBytes, services } = stored;
  const isServed = (now: number) => {
    const metas = resumed.metas();
    return stored.clusters.some(({ clusterId }) => isLive(metas, clusterId, now));
  };
  return {
    current: (now) => (isServed(now) ? { generation } : undefined),
    status() {
      const now = resumed.now();
      if (!isServed(now)) return NOT_READY;
      const since = behindSince(stored, resumed, now);
      return {
        ...{ ready: true, rootHash: generation.rootHash, generationBytes, services },
        clusters: statusesOf(stored, resumed, now),
        ...(now - since > resumed.mostBehind && { behindSince: since }),
      };
    },
  };
}

function isLive(metas: ReadonlyMap<string, ClusterMeta>, clusterId: string, now: number): boolean {
  return (metas.get(clusterId)?.expiresAt ?? 0) > now;
}

/** The clusters that are stored, by ascending id. */
function statusesOf({ clusters }: StoredGeneration, resumed: ResumedWith, now: number): ClusterStatus[] {
  const compiled = new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
  const statuses: ClusterStatus[] = [];
  const metas = resumed.metas();
  for (const [clusterId, { uptime: _, ...meta }] of metas) {
    const cluster = compiled.get(clusterId);
    if (cluster === undefined && !resumed.isEverything) continue;
    const live = cluster !== undefined && isLive(metas, clusterId, now);
    const { exports, imports } = cluster ?? { exports: 0, imports: 0 };
    statuses.push({ clusterId, ...meta, live, exports, imports });
  }
  return statuses.sort((one, other) => (one.clusterId < other.clusterId ? -1 : 1));
}

/** Since when what is stored differs from what the generation was compiled from; Infinity where it does not. */
function behindSince({ clusters, keptAt }: StoredGeneration, resumed: ResumedWith, now: number): number {
  const { isEverything } = resumed;
  const metas = resumed.metas();
  let since = Number.POSITIVE_INFINITY;
  const known = new Set<string>();
  for (const { clusterId, generation } of clusters) {
    known.add(clusterId);
    const meta = metas.get(clusterId);
    // It left, or its rows are damaged.
    if (meta === undefined) since = Math.min(since, keptAt);
    else if (meta.expiresAt <= now) since = Math.min(since, meta.expiresAt);
    else if (meta.generation !== generation) since = Math.min(since, meta.pushedAt);
  }
  if (isEverything)
    for (const [clusterId, { pushedAt, expiresAt }] of metas)
      if (!known.has(clusterId) && expiresAt > now) since = Math.min(since, pushedAt);
  return since;
}
