import { applyInPlace, copyTables, type SnapshotDelta } from "../../snapshot/entry-changes.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import type { ClusterMeta } from "../../store/store.ts";
import { type Clock, unixTime } from "../clock.ts";
import type { Acknowledgement, ClusterStatus } from "../gateway-types.ts";
import { measureInSteps, type SnapshotTotals, totalsAfter } from "../pushing/snapshot-bounds.ts";

/** A change of a cluster, with what it holds afterwards. */
export interface MeasuredChange {
  readonly change: SnapshotDelta;
  readonly totals: SnapshotTotals;
}

/** What is held of a cluster, changed in place: its tables are its own, entries never change. */
export class HeldCluster {
  readonly clusterId: string;
  /** Its times are those of the gateway's clock. */
  meta: ClusterMeta;
  readonly #snapshot: ClusterSnapshot;
  #totals: SnapshotTotals | undefined;

  private constructor(snapshot: ClusterSnapshot, meta: ClusterMeta) {
    this.clusterId = snapshot.clusterId;
    this.#snapshot = snapshot;
    this.meta = meta;
  }

  /** A cluster with what a snapshot has. */
  static of(snapshot: ClusterSnapshot, meta: ClusterMeta): HeldCluster {
    return new HeldCluster(copyTables(snapshot), meta);
  }

  /** A cluster of which nothing is known. */
  static empty(clusterId: string): HeldCluster {
    const tables = { namespaces: {}, exports: {}, imports: {}, services: {}, pods: {}, findings: {} };
    const meta = { generation: 0, pushedAt: 0, renewedAt: 0, expiresAt: 0 };
    return new HeldCluster({ formatVersion: 1, clusterId, ...tables }, meta);
  }

  /** What is held now. Its tables change with the next push. */
  get snapshot(): Readonly<ClusterSnapshot> {
    return this.#snapshot;
  }

  /** What the snapshot has beside its entries after a change. */
  shell({ singles }: SnapshotDelta): object {
    const { formatVersion, clusterId, topology, clusterZone } = this.#snapshot;
    const tables = { namespaces: {}, exports: {}, imports: {}, services: {}, pods: {}, findings: {} };
    return { formatVersion, clusterId, topology, clusterZone, ...singles, ...tables };
  }

  /** What the cluster has, counted; undefined while nobody has. */
  get totals(): SnapshotTotals | undefined {
    return this.#totals;
  }

  /** Counts what the cluster has, in steps; only the first time after a start of the gateway costs anything. */
  *count(): Generator<void, SnapshotTotals> {
    this.#totals ??= yield* measureInSteps(this.#snapshot);
    return this.#totals;
  }

  /** Counts what the cluster has after a change, in steps. */
  *measure(change: SnapshotDelta): Generator<void, MeasuredChange> {
    return { change, totals: yield* totalsAfter(yield* this.count(), this.#snapshot, change) };
  }

  /** Applies a change that was measured, in steps. */
  *apply({ change, totals }: MeasuredChange): Generator<void> {
    yield* applyInPlace(this.#snapshot, change);
    this.#totals = totals;
  }

  /** What its worker is told, with times of the wall clock. */
  acknowledgement(clock: Clock): Acknowledgement {
    const { generation, expiresAt } = this.meta;
    return { clusterId: this.clusterId, generation, expiresAt: unixTime(clock, expiresAt) };
  }

  /** @param visible how many exports and imports exist for whoever the status is for */
  status(live: boolean, visible: Pick<ClusterStatus, "exports" | "imports">): ClusterStatus {
    return { clusterId: this.clusterId, ...this.meta, live, ...visible };
  }
}

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
