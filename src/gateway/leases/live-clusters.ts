import type { ClusterFinding } from "../../merge/clusterset.ts";
import type { Gone } from "../../store/shared/shared-log.ts";
import type { ClusterMeta } from "../../store/store.ts";
import type { ClusterTerms } from "../doh-gateway.ts";
import type { ClusterStatus } from "../gateway-types.ts";
import { firstExpiry, type HeldCluster } from "./held-cluster.ts";

/** How many exports and imports of a cluster exist in a scope. */
export type CountVisible = (clusterId: string) => Pick<ClusterStatus, "exports" | "imports">;

/** The clusters whose leases run, as far as they exist in a scope, and what is remembered of those whose lease ran out. */
export class LiveClusters {
  readonly live = new Map<string, HeldCluster>();
  /** Those that left on purpose, also without ever having come, and have not come back. */
  readonly left = new Set<string>();
  readonly #lapsed = new Map<string, ClusterTerms>();
  readonly #mostLapsed: number;
  readonly #hold: number;
  readonly #count: CountVisible;
  /** The terms that were made last from a cluster's meta. */
  readonly #terms = new WeakMap<ClusterMeta, ClusterTerms>();
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
      this.live.get(clusterId)?.meta ?? this.#lapsed.get(clusterId)?.status ?? {};
    return generation;
  }

  set(cluster: HeldCluster): void {
    const { clusterId } = cluster;
    this.#lapsed.delete(clusterId);
    this.left.delete(clusterId);
    this.live.set(clusterId, cluster);
    this.leasesChanged();
  }

  /** Forgets a cluster that left on purpose; false where it was not known. @param generation the newest that left, if it is not the one held */
  leave(clusterId: string, generation = 0): boolean {
    this.#forgotten = Math.max(this.#forgotten, this.generationOf(clusterId), generation);
    const lapsed = this.#lapsed.delete(clusterId);
    const known = this.live.delete(clusterId) || lapsed;
    this.#someLeft ||= known;
    this.left.add(clusterId);
    this.leasesChanged();
    return known;
  }

  /** Remembers a cluster that went before this gateway knew it. Nothing is known of what it had. */
  recall(clusterId: string, { why, meta, generation }: Gone): void {
    if (this.live.has(clusterId)) return;
    this.#forgotten = Math.max(this.#forgotten, generation);
    if (meta === undefined) return;
    if (why === "expired")
      this.#lapsed.set(clusterId, lapsed({ clusterId, ...meta, live: false, exports: 0, imports: 0 }));
    else {
      this.#someLeft = true;
      this.left.add(clusterId);
    }
  }

  /** A finding for each live cluster for which a second worker pushes. */
  contended(): ClusterFinding[] {
    const findings: ClusterFinding[] = [];
    for (const { clusterId, contention, meta } of this.live.values())
      if (contention !== undefined)
        findings.push({
          clusterId,
          kind: "Cluster",
          name: clusterId,
          reason: "OtherInstance",
          message: `a second worker (instance ${contention.instance}) pushes with this cluster id, and is rejected while the first one (instance ${meta.instance}) holds the lease: what it reads is not answered. Give one of the two another cluster id, or stop it`,
        });
    return findings;
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
      this.#lapsed.set(clusterId, lapsed(cluster.status(false, this.#count(clusterId))));
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

  /**
   * What answers depend on of every cluster known, by its id. One of which nothing changed has the same object as before.
   * @param served clusters that are in the answers: others are not live
   */
  terms(served: ReadonlyMap<string, unknown>): Map<string, ClusterTerms> {
    const terms = new Map(this.#lapsed);
    for (const [clusterId, cluster] of this.live)
      terms.set(clusterId, this.#termsOf(cluster, served.has(clusterId)));
    return terms;
  }

  /** Every cluster known, sorted by its id. @param served clusters that are in the answers: others are not live */
  statuses(served: ReadonlyMap<string, unknown>): ClusterStatus[] {
    return Array.from(this.terms(served).values(), ({ status }) => status).sort((one, other) =>
      one.clusterId < other.clusterId ? -1 : 1,
    );
  }

  #termsOf(cluster: HeldCluster, isServed: boolean): ClusterTerms {
    const { clusterId, meta } = cluster;
    const counts = this.#count(clusterId);
    const before = this.#terms.get(meta);
    if (before !== undefined && isStatus(before.status, isServed, counts)) return before;
    const terms = { expiresAt: meta.expiresAt, status: cluster.status(isServed, counts) };
    this.#terms.set(meta, terms);
    return terms;
  }
}

function isStatus(
  status: ClusterStatus,
  isLive: boolean,
  { exports, imports }: ReturnType<CountVisible>,
): boolean {
  return status.live === isLive && status.exports === exports && status.imports === imports;
}

function lapsed(status: ClusterStatus): ClusterTerms {
  return { expiresAt: undefined, status };
}
