import type { SnapshotStore } from "../store/store.ts";
import type { ClusterStatus } from "./gateway-types.ts";
import { firstExpiry, HeldCluster } from "./held-cluster.ts";

/** The clusters whose leases run, and what is remembered of those whose lease ran out. */
export class LiveClusters {
  readonly live = new Map<string, HeldCluster>();
  readonly #lapsed = new Map<string, ClusterStatus>();
  readonly #mostLapsed: number;
  #someLeft = false;
  #nextExpiry = Number.POSITIVE_INFINITY;

  constructor(mostLapsed: number) {
    this.#mostLapsed = mostLapsed;
  }

  /** Loads what a store kept. Clusters whose lease ran out meanwhile are given back, not brought to life. */
  async load(store: SnapshotStore, now: number): Promise<HeldCluster[]> {
    for (const { snapshot, meta } of await store.load())
      this.live.set(snapshot.clusterId, new HeldCluster(snapshot, meta));
    return this.takeExpired(now);
  }

  /** When the next lease runs out, in Unix milliseconds. */
  get nextExpiry(): number {
    return this.#nextExpiry;
  }

  /** Whether no name may be denied: nobody has pushed yet, or the last clusters died instead of leaving. */
  get unknown(): boolean {
    return this.live.size === 0 && !(this.#someLeft && this.#lapsed.size === 0);
  }

  /** Whether a cluster is live, or died without leaving. */
  has(clusterId: string): boolean {
    return this.live.has(clusterId) || this.#lapsed.has(clusterId);
  }

  /** The last generation known of a cluster; 0 for none. */
  generationOf(clusterId: string): number {
    return this.live.get(clusterId)?.meta.generation ?? this.#lapsed.get(clusterId)?.generation ?? 0;
  }

  set(clusterId: string, cluster: HeldCluster): void {
    this.#lapsed.delete(clusterId);
    this.live.set(clusterId, cluster);
    this.leasesChanged();
  }

  /** Forgets a cluster that left on purpose; false where it was not known. */
  leave(clusterId: string): boolean {
    const lapsed = this.#lapsed.delete(clusterId);
    const known = this.live.delete(clusterId) || lapsed;
    this.#someLeft ||= known;
    this.leasesChanged();
    return known;
  }

  /** Takes out the clusters whose lease is over. */
  takeExpired(now: number): HeldCluster[] {
    const expired = [...this.live.values()].filter(({ meta }) => meta.expiresAt <= now);
    for (const cluster of expired) {
      const { clusterId } = cluster.snapshot;
      this.live.delete(clusterId);
      this.#lapsed.set(clusterId, cluster.status(false));
      for (const oldest of this.#lapsed.keys()) {
        if (this.#lapsed.size <= this.#mostLapsed) break;
        this.#lapsed.delete(oldest);
      }
    }
    this.leasesChanged();
    return expired;
  }

  leasesChanged(): void {
    this.#nextExpiry = firstExpiry(this.live);
  }

  /** Every cluster known, sorted by its id. */
  statuses(): ClusterStatus[] {
    const live = [...this.live.values()].map((cluster) => cluster.status(true));
    return [...live, ...this.#lapsed.values()].sort((one, other) =>
      one.clusterId < other.clusterId ? -1 : 1,
    );
  }
}
