import type { ClusterMeta, ClusterRow, Totals } from "../../database/cluster-row.ts";
import type { Reader } from "../../database/reader.ts";
import type { Staged } from "../../database/stage.ts";
import type { Applied, Writer } from "../../database/writer.ts";
import { type Visibility, visibilityKey, withoutView } from "../../merge/visibility/visibility.ts";
import type { KeyWorld } from "../../names/key-world.ts";
import type { Leases } from "../../resolve/leases.ts";
import { type Clock, unixTime } from "../clock.ts";
import { GenerationMismatch } from "../gateway-types.ts";
import { LeaseTables } from "../leases/lease-tables.ts";
import { type LeaseTerms, leasedAt, renewed } from "../leases/lease-terms.ts";
import { resumed, toStored } from "../leases/stored-lease.ts";
import { KeyedScope, type NameSettings } from "./keyed-scope.ts";

/** What a keyed gateway is put together from. */
export interface KeyedParts {
  readonly writer: Writer;
  readonly reader: Reader;
  readonly clock: Clock;
  readonly settings: NameSettings;
  /** The scopes that it answers in, beside everything. */
  readonly scopes?: readonly Visibility[];
  /** @throws {PushRefused} for a cluster that would have too much */
  readonly checkTotals?: (totals: Totals) => void;
}

/** What is answered from in a scope. */
export interface KeyedAnswers {
  readonly world: KeyWorld;
  readonly leases: Leases;
}

interface ScopeClusters {
  readonly live: readonly string[];
  /** Whether a name may be denied: a cluster is live, or the last ones left on purpose. */
  readonly isKnown: boolean;
}

/** Takes what clusters push into the database, and gives what queries are answered from. */
export class KeyedGateway {
  readonly #parts: KeyedParts;
  /** The live clusters. Times are those of the gateway's clock. */
  readonly #live = new Map<string, ClusterMeta>();
  /** Clusters whose lease ended. */
  readonly #expired = new Map<string, ClusterMeta>();
  /** Clusters that left on purpose, with the generation that they had; 0 for one that was not known. */
  readonly #left = new Map<string, number>();
  readonly #scopes = new Map<string, KeyedScope>();
  /** Cleared when a cluster joins, leaves or expires. */
  readonly #clusters = new Map<KeyedScope, ScopeClusters>();
  #leases!: Leases;
  #nextExpiry = Number.POSITIVE_INFINITY;
  /** SOA serial: the time of the newest change in seconds, which grows over restarts, too (RFC 1982). */
  #serial: number;

  constructor(parts: KeyedParts) {
    const { reader, writer, clock, settings, scopes = [] } = parts;
    this.#parts = parts;
    for (const scope of [{}, ...scopes]) {
      const key = visibilityKey(withoutView(scope));
      if (!this.#scopes.has(key)) this.#scopes.set(key, new KeyedScope(reader, withoutView(scope), settings));
    }
    writer.start(unixTime(clock, clock.now()));
    for (const row of reader.clusters()) this.#resume(row);
    this.#leasesChanged();
    this.#serial = this.#seconds();
    this.expireNow();
  }

  /** What is answered from in a scope; undefined while no name may be denied: no cluster has pushed, or the last leases expired. */
  answersIn(scope: Visibility, now = this.#parts.clock.now()): KeyedAnswers | undefined {
    this.expireNow(now);
    const served = this.#scopes.get(visibilityKey(withoutView(scope)));
    if (served === undefined) throw new RangeError("the gateway was not opened with this scope");
    const { live, isKnown } = this.#clustersIn(served);
    if (!isKnown) return undefined;
    return { world: served.world(live, this.#serial), leases: this.#leases };
  }

  /** The live clusters of a scope, and whether a name may be denied there. */
  #clustersIn(scope: KeyedScope): ScopeClusters {
    const known = this.#clusters.get(scope);
    if (known !== undefined) return known;
    const live = [...this.#live.keys()].filter((id) => scope.has(id));
    const hasExpired = [...this.#expired.keys()].some((id) => scope.has(id));
    const someLeft = [...this.#left].some(([id, generation]) => generation > 0 && scope.has(id));
    const clusters = { live, isKnown: live.length > 0 || (someLeft && !hasExpired) };
    this.#clusters.set(scope, clusters);
    return clusters;
  }

  /** Whether a cluster is live, or its lease expired. */
  hasCluster(cluster: string): boolean {
    return this.#live.has(cluster) || this.#expired.has(cluster);
  }

  hasLeft(cluster: string): boolean {
    return this.#left.has(cluster);
  }

  /**
   * Takes what a cluster pushed; it is stored, and answered from, when this returns.
   * @param base for changes: the generation that they build on
   * @throws {GenerationMismatch} when another one is held
   */
  push(staged: Staged, terms: LeaseTerms, base?: number): ClusterMeta {
    const { cluster, kind } = staged;
    const { clock } = this.#parts;
    this.expireNow();
    const now = clock.now();
    const held = this.#live.get(cluster);
    if (kind === "changes" && held?.generation !== base) throw new GenerationMismatch(held?.generation);
    const last = this.#generationOf(cluster);
    const generation = Math.max(last + 1, unixTime(clock, now));
    return this.#apply(staged, { generation, pushedAt: now, ...leasedAt(now, terms, held?.instance) });
  }

  /** Renews a cluster's lease. @throws {GenerationMismatch} when another generation is held */
  renew(cluster: string, generation: number, terms: LeaseTerms): ClusterMeta {
    this.expireNow();
    const held = this.#live.get(cluster) ?? this.#expired.get(cluster);
    if (held?.generation !== generation) throw new GenerationMismatch(held?.generation);
    return this.#apply(
      { cluster, kind: "changes", entries: new Map() },
      renewed(held, this.#parts.clock.now(), terms),
    );
  }

  /** Forgets a cluster on its own wish. @returns whether it was known */
  leave(cluster: string): boolean {
    const isKnown = this.hasCluster(cluster);
    const generation = this.#generationOf(cluster);
    this.#parts.writer.apply({ kind: "departure", cluster });
    this.#live.delete(cluster);
    this.#expired.delete(cluster);
    this.#left.set(cluster, generation);
    this.#leasesChanged();
    this.#clusterChanged(cluster);
    return isKnown;
  }

  /** Drops clusters whose lease ended. */
  expireNow(now = this.#parts.clock.now()): void {
    if (now < this.#nextExpiry) return;
    for (const [cluster, meta] of this.#live) {
      if (meta.expiresAt > now) continue;
      this.#live.delete(cluster);
      this.#expired.set(cluster, meta);
      this.#parts.writer.apply({ kind: "expiry", cluster });
      this.#clusterChanged(cluster);
    }
    this.#leasesChanged();
  }

  /** The last generation that is known of a cluster; 0 for none. */
  #generationOf(cluster: string): number {
    const held = this.#live.get(cluster) ?? this.#expired.get(cluster);
    return held?.generation ?? this.#left.get(cluster) ?? 0;
  }

  #apply(staged: Staged, meta: ClusterMeta): ClusterMeta {
    const { writer, clock, checkTotals } = this.#parts;
    const { cluster } = staged;
    const isLive = this.#live.has(cluster);
    const sight = { now: unixTime(clock, clock.now()), live: isLive };
    const change = writer.prepare(staged, toStored(meta, clock), sight);
    checkTotals?.(change.totals);
    const applied = writer.apply(change);
    this.#live.set(cluster, meta);
    this.#expired.delete(cluster);
    this.#left.delete(cluster);
    this.#leasesChanged();
    this.#changed(applied, !isLive);
    return meta;
  }

  #changed({ keys, cluster: { id } }: Applied, cameBack: boolean): void {
    if (keys === undefined || cameBack) this.#clusterChanged(id);
    else if (keys.length > 0) {
      for (const scope of this.#scopes.values()) scope.changed(id, keys);
      this.#serial = this.#seconds();
    }
  }

  #clusterChanged(cluster: string): void {
    this.#clusters.clear();
    for (const scope of this.#scopes.values()) scope.clusterChanged(cluster);
    this.#serial = this.#seconds();
  }

  #resume({ id, state, meta }: ClusterRow): void {
    if (state === "left") {
      this.#left.set(id, meta?.generation ?? 0);
    } else if (meta !== undefined && state !== "damaged") {
      (state === "live" ? this.#live : this.#expired).set(id, resumed(meta, this.#parts.clock));
    }
  }

  #leasesChanged(): void {
    this.#leases = new LeaseTables((cluster) => this.#live.get(cluster)?.expiresAt);
    this.#nextExpiry = Math.min(...Array.from(this.#live.values(), ({ expiresAt }) => expiresAt));
  }

  #seconds(): number {
    const { clock } = this.#parts;
    return Math.floor(unixTime(clock, clock.now()) / 1000) % 2 ** 32;
  }
}
