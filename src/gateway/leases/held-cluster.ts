import { memoize } from "../../merge/unchanged.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import type { ClusterMeta } from "../../store/store.ts";
import { type Clock, unixTime } from "../clock.ts";
import type { Acknowledgement, ClusterStatus } from "../gateway-types.ts";

/** A live cluster. */
export class HeldCluster {
  readonly snapshot: ClusterSnapshot;
  /** Its times are those of the gateway's clock. */
  meta: ClusterMeta;
  /** An upper bound on the snapshot's length as JSON; undefined until a delta makes it matter. */
  charactersAtMost: number | undefined;

  constructor(snapshot: ClusterSnapshot, meta: ClusterMeta, charactersAtMost?: number) {
    this.snapshot = snapshot;
    this.meta = meta;
    this.charactersAtMost = charactersAtMost;
  }

  /** What its worker is told, with times of the wall clock. */
  acknowledgement(clock: Clock): Acknowledgement {
    const { generation, expiresAt } = this.meta;
    return { clusterId: this.snapshot.clusterId, generation, expiresAt: unixTime(clock, expiresAt) };
  }

  /** @param visible what exists of the snapshot for whoever the status is for */
  status(live: boolean, visible: ClusterSnapshot): ClusterStatus {
    return { clusterId: this.snapshot.clusterId, ...this.meta, live, ...countServices(visible) };
  }
}

// A secondary asks for the status each second, and there may be 10,000 services.
const countServices = memoize(({ exports, imports }: ClusterSnapshot) => ({
  exports: Object.keys(exports).length,
  imports: Object.keys(imports).length,
}));

/**
 * When each lease group's first lease runs out. A cluster that is no longer held (no `expiresAt`) counts as run out: what
 * rests on it may be answered once more, but not be cached.
 */
export function leaseExpiry(
  groups: readonly (readonly string[])[],
  expiresAt: (clusterId: string) => number | undefined,
): Float64Array {
  return Float64Array.from(groups, (group) =>
    group.reduce((first, id) => Math.min(first, expiresAt(id) ?? 0), Number.POSITIVE_INFINITY),
  );
}

/** When the first lease of all runs out; Infinity where there is no cluster. */
export function firstExpiry(clusters: ReadonlyMap<string, HeldCluster>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { meta } of clusters.values()) first = Math.min(first, meta.expiresAt);
  return first;
}
