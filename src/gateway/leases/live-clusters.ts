import type { ClusterMeta } from "../../store/cluster-meta.ts";
import type { ClusterStatus } from "../gateway-types.ts";
import { firstExpiry, type HeldCluster } from "./held-cluster.ts";

/** How many exports and imports of a cluster exist in a scope. */
export type CountVisible = (clusterId: string) => Pick<ClusterStatus, "exports" | "imports">;

/** The clusters whose leases run, as far as they exist in a scope, and what is remembered of those whose lease ran out. */
export class LiveClusters {
  readonly live = new Map<string, HeldCluster>();
  readonly #lapsed = new Map<string, ClusterStatus>();
  readonly #mostLapsed: number;
  readonly #hold: number;
  readonly #count: CountVisible;
  #someLeft = false;
  /** The highest generation of the clusters that left, or were forgotten. */
  #forgotten = 0;
  #nextExpiry = Number.POSITIVE_INFINITY;

  /** @param hold milliseconds after its lease for which a cluster is live */
  constructor(mostLapsed: number, hold: number, count: CountVisible) {
    this.#mostLapsed = mostLapsed;
    this.#hold = hold;
    this.#count = count;
  }

  /** When the next cluster is not live any more, by the gateway's clock. */
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
    const { clusterId } = cluster;
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

  /** Remembers a cluster that went before this gateway knew it. Nothing is known of what it had. */
  recall(clusterId: string, why: "left" | "expired", meta: ClusterMeta): void {
    if (this.live.has(clusterId)) return;
    if (why === "expired")
      this.#lapsed.set(clusterId, { clusterId, ...meta, live: false, exports: 0, imports: 0 });
    else {
      this.#someLeft = true;
      this.#forgotten = Math.max(this.#forgotten, meta.generation);
    }
  }

  /** Takes out the clusters whose lease has expired. */
  takeExpired(now: number): HeldCluster[] {
    const expired = [...this.live.values()].filter(({ meta }) => meta.expiresAt + this.#hold <= now);
    this.#lapse(expired);
    return expired;
  }

  /** Takes a cluster out as one whose lease has expired. @returns it, if it was live */
  lapse(clusterId: string): HeldCluster | undefined {
    const cluster = this.live.get(clusterId);
    if (cluster !== undefined) this.#lapse([cluster]);
    return cluster;
  }

  #lapse(expired: readonly HeldCluster[]): void {
    if (expired.length === 0) return;
    for (const cluster of expired) {
      const { clusterId } = cluster;
      this.live.delete(clusterId);
      this.#lapsed.set(clusterId, cluster.status(false, this.#count(clusterId)));
      for (const oldest of this.#lapsed.keys()) {
        if (this.#lapsed.size <= this.#mostLapsed) break;
        this.#forgotten = Math.max(this.#forgotten, this.generationOf(oldest));
        this.#lapsed.delete(oldest);
      }
    }
    this.leasesChanged();
  }

  leasesChanged(): void {
    this.#nextExpiry = firstExpiry(this.live) + this.#hold;
  }

  /** When a cluster's lease expires, by the gateway's clock; undefined for one that is not live. */
  readonly expiresAt = (clusterId: string): number | undefined => this.live.get(clusterId)?.meta.expiresAt;

  /** When the lease of each known cluster expires; undefined for one that is not live. */
  expiries(): Map<string, number | undefined> {
    const expiries = new Map<string, number | undefined>();
    for (const clusterId of this.#lapsed.keys()) expiries.set(clusterId, undefined);
    for (const [clusterId, { meta }] of this.live) expiries.set(clusterId, meta.expiresAt);
    return expiries;
  }

  /** Every cluster known, sorted by its id. @param served clusters that are in the answers: others are not live */
  statuses(served: ReadonlyMap<string, unknown>): ClusterStatus[] {
    const live = Array.from(this.live, ([clusterId, cluster]) =>
      cluster.status(served.has(clusterId), this.#count(clusterId)),
    );
    return [...live, ...this.#lapsed.values()].sort((one, other) =>
      one.clusterId < other.clusterId ? -1 : 1,
    );
  }
}
