import {
  type HeldChange,
  type HeldDelta,
  packDelta,
  type SnapshotDelta,
} from "../../snapshot/entry-changes.ts";
import { type FollowingState, HeldTables } from "../../snapshot/held/held-tables.ts";
import { emptySnapshot, type HeldState, NOTHING_HELD } from "../../snapshot/lines/held-state.ts";
import { OTHER_INSTANCE } from "../../snapshot/report/degradation.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import type { ClusterMeta } from "../../store/store.ts";
import { type Clock, unixTime } from "../clock.ts";
import type { Acknowledgement, ClusterStatus } from "../gateway-types.ts";
import { measureInSteps, type SnapshotTotals, totalsAfter } from "../pushing/snapshot-bounds.ts";
import type { Contention } from "./other-instance.ts";

/** A change of a cluster, with what it holds afterwards. */
export interface MeasuredChange {
  readonly change: HeldDelta;
  readonly totals: SnapshotTotals;
}

/** What is held of a cluster, changed in place. */
export class HeldCluster {
  readonly clusterId: string;
  /** Its times are those of the gateway's clock. */
  meta: ClusterMeta;
  #contention: Contention | undefined;
  #state: HeldState = NOTHING_HELD;
  /** What the state is from the first change on. */
  readonly #following: FollowingState;
  #totals: SnapshotTotals | undefined;

  private constructor(clusterId: string, following: FollowingState, meta: ClusterMeta) {
    this.clusterId = clusterId;
    this.#following = following;
    this.meta = meta;
  }

  /** A cluster with what a snapshot has, held in memory. */
  static of(snapshot: ClusterSnapshot, meta: ClusterMeta): HeldCluster {
    return HeldCluster.in(snapshot.clusterId, HeldTables.of(snapshot), meta);
  }

  /** A cluster with what a state has, which follows its changes. */
  static in(clusterId: string, following: FollowingState, meta: ClusterMeta): HeldCluster {
    const cluster = new HeldCluster(clusterId, following, meta);
    cluster.#state = following;
    return cluster;
  }

  /** A cluster of which nothing is known. @param stored where its entries will be read from. Default: they are held in memory */
  static empty(clusterId: string, stored: FollowingState = new HeldTables()): HeldCluster {
    return new HeldCluster(clusterId, stored, { generation: 0, pushedAt: 0, renewedAt: 0, expiresAt: 0 });
  }

  /** Who else wants to push for the cluster. */
  get contention(): Contention | undefined {
    return this.#contention;
  }

  set contention(contention: Contention | undefined) {
    // What is known of a cluster counts as unchanged as long as its meta is the same object.
    if ((contention === undefined) !== (this.#contention === undefined)) this.meta = { ...this.meta };
    this.#contention = contention;
  }

  /** What is held whenever it is read. */
  get state(): HeldState {
    return this.#state;
  }

  /** What the snapshot has beside its entries after a change. */
  shell({ singles }: Pick<HeldDelta, "singles">): object {
    const [topology, clusterZone] = [this.#state.single("topology"), this.#state.single("clusterZone")];
    return { ...emptySnapshot(this.clusterId), topology, clusterZone, ...singles };
  }

  /** Counts what the cluster has, in steps; only the first time after a start of the gateway costs anything. */
  *count(): Generator<void, SnapshotTotals> {
    this.#totals ??= yield* measureInSteps(this.#state);
    return this.#totals;
  }

  /** Packs a change and counts what the cluster has after it, in steps. */
  *measure(delta: SnapshotDelta): Generator<void, MeasuredChange> {
    const totals = yield* this.count();
    const change = yield* packDelta(delta);
    return { change, totals: yield* totalsAfter(totals, this.#state, delta, change) };
  }

  /** What brings back entries as they are now; the cluster must have been counted. */
  inverse(entries: readonly Pick<HeldChange, "collection" | "key">[]): MeasuredChange {
    const before = entries.map(
      ({ collection, key }) =>
        ({ collection, key, entry: this.#state.packed(collection, key) }) as HeldChange,
    );
    return { change: { entries: before, singles: {} }, totals: this.#totals! };
  }

  /** Applies a change that was measured, in steps. */
  *apply({ change, totals }: MeasuredChange): Generator<void> {
    yield* this.#following.apply(change);
    this.#state = this.#following;
    this.#totals = totals;
  }

  /** What its worker gets, with times of the wall clock. */
  acknowledgement(clock: Clock): Acknowledgement {
    const { generation, expiresAt } = this.meta;
    return { clusterId: this.clusterId, generation, expiresAt: unixTime(clock, expiresAt) };
  }

  /** @param visible how many exports and imports exist for the client that gets the status */
  status(live: boolean, visible: Pick<ClusterStatus, "exports" | "imports">): ClusterStatus {
    const { instance: _, degraded = [], ...meta } = this.meta;
    const contended = this.#contention && { reason: OTHER_INSTANCE, since: this.#contention.since };
    const all = contended === undefined ? degraded : [...degraded, contended];
    return { clusterId: this.clusterId, ...meta, ...(all.length > 0 && { degraded: all }), live, ...visible };
  }
}

/**
 * When each lease group's first lease expires. A cluster that is no longer held (no `expiresAt`) counts as expired: its
 * records may be answered once more, but not be cached.
 */
export function leaseExpiry(
  groups: readonly (readonly string[])[],
  expiresAt: (clusterId: string) => number | undefined,
): Float64Array {
  return Float64Array.from(groups, (group) =>
    group.reduce((first, id) => Math.min(first, expiresAt(id) ?? 0), Number.POSITIVE_INFINITY),
  );
}

/** When the first lease of all expires; Infinity if there is no cluster. */
export function firstExpiry(clusters: ReadonlyMap<string, HeldCluster>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { meta } of clusters.values()) first = Math.min(first, meta.expiresAt);
  return first;
}
