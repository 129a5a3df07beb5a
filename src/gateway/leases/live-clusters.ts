import type { SnapshotFilter } from "../../merge/visibility/visible.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import type { ClusterStatus } from "../gateway-types.ts";
import { firstExpiry, type HeldCluster } from "./held-cluster.ts";

/** The clusters whose leases run, as far as they exist in a scope, and what is remembered of those whose lease ran out. */
export class LiveClusters {
  readonly live = new Map<string, HeldCluster>();
  readonly #lapsed = new Map<string, ClusterStatus>();
  readonly #mostLapsed: number;
  readonly #see: SnapshotFilter;
  #someLeft = false;
  /** The highest generation of the clusters that left, or were forgotten. */
  #forgotten = 0;
  #nextExpiry = Number.POSITIVE_INFINITY;

  /** @param see what exists of their snapshots */
  constructor(mostLapsed: number, see: SnapshotFilter) {
    this.#mostLapsed = mostLapsed;
    this.#see = see;
  }

  /** When the next lease runs out, by the gateway's clock. */
  get nextExpiry(): number {
    return this.#nextExpiry;
  }

  /** Whether no name may be denied: nobody has pushed yet, or the last clusters died instead of leaving. */
  get unknown(): boolean {
    return this.live.size === 0 && !(this.#someLeft && this.#lapsed.size === 0);
  }

  /** Whether a cluster is known that died without leaving: queries from it are still answered. */
  get hasLapsed(): boolean {
    return this.#lapsed.size > 0;
  }

  /** Whether a cluster is live, or died without leaving. */
  has(clusterId: string): boolean {
    return this.live.has(clusterId) || this.#lapsed.has(clusterId);
  }

  /** The last generation known of a cluster; of one that is not known any more, an upper bound. 0 for none. */
  generationOf(clusterId: string): number {
    const { generation = this.#forgotten } =
      this.live.get(clusterId)?.meta ?? this.#lapsed.get(clusterId) ?? {};
    return generation;
  }

  set(cluster: HeldCluster): void {
    const { clusterId } = cluster.snapshot;
    this.#lapsed.delete(clusterId);
    this.live.set(clusterId, cluster);
    this.leasesChanged();
  }

  /** Forgets a cluster that left on purpose; false where it was not known. */
  leave(clusterId: string): boolean {
    this.#forgotten = Math.max(this.#forgotten, this.generationOf(clusterId));
    const lapsed = this.#lapsed.delete(clusterId);
    const known = this.live.delete(clusterId) || lapsed;
    this.#someLeft ||= known;
    this.leasesChanged();
    return known;
  }

  /** Takes out the clusters whose lease is over. */
  takeExpired(now: number): HeldCluster[] {
    const expired = [...this.live.values()].filter(({ meta }) => meta.expiresAt <= now);
    if (expired.length === 0) return expired;
    const visible = this.#visibleById();
    for (const cluster of expired) {
      const { clusterId } = cluster.snapshot;
      this.live.delete(clusterId);
      this.#lapsed.set(clusterId, cluster.status(false, visible.get(clusterId)!));
      for (const oldest of this.#lapsed.keys()) {
        if (this.#lapsed.size <= this.#mostLapsed) break;
        this.#forgotten = Math.max(this.#forgotten, this.generationOf(oldest));
        this.#lapsed.delete(oldest);
      }
    }
    this.leasesChanged();
    return expired;
  }

  leasesChanged(): void {
    this.#nextExpiry = firstExpiry(this.live);
  }

  /** What exists of the live clusters' snapshots, sorted by cluster id. The same as before, by identity, where that did not change. */
  snapshots(): readonly ClusterSnapshot[] {
    const ids = [...this.live.keys()].sort();
    return this.#see(ids.map((clusterId) => this.live.get(clusterId)!.snapshot));
  }

  /** When a cluster's lease runs out, by the gateway's clock; undefined for one that is not live. */
  readonly expiresAt = (clusterId: string): number | undefined => this.live.get(clusterId)?.meta.expiresAt;

  /** Every cluster known, sorted by its id. */
  statuses(): ClusterStatus[] {
    const visible = this.#visibleById();
    const live = Array.from(this.live, ([clusterId, cluster]) =>
      cluster.status(true, visible.get(clusterId)!),
    );
    return [...live, ...this.#lapsed.values()].sort((one, other) =>
      one.clusterId < other.clusterId ? -1 : 1,
    );
  }

  #visibleById(): ReadonlyMap<string, ClusterSnapshot> {
    return new Map(this.snapshots().map((snapshot) => [snapshot.clusterId, snapshot]));
  }
}
