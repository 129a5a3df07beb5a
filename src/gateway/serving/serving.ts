import { ServiceIndex } from "../../merge/index/service-index.ts";
import {
  checkVisibility,
  EVERYTHING,
  type Visibility,
  visibilityKey,
  withoutView,
} from "../../merge/visibility/visibility.ts";
import type { HeldDelta } from "../../snapshot/entry-changes.ts";
import type { ClusterMeta } from "../../store/cluster-meta.ts";
import type { Gone } from "../../store/shared/shared-log.ts";
import { claimant, serviceOf } from "../../zone/reverse/reverse-order.ts";
import type { DesiredFeed } from "../desired/desired-feed.ts";
import type { ScopedGateway } from "../doh-gateway.ts";
import type { CompiledPush } from "../keeping/generation-store.ts";
import type { HeldCluster } from "../leases/held-cluster.ts";
import { LeaseTimer, type LeaseWatch } from "../leases/lease-timer.ts";
import type { LiveClusters } from "../leases/live-clusters.ts";
import { PushBacklog } from "../pushing/push-backlog.ts";
import type { ServedGeneration } from "../stages.ts";
import { entriesOf, SMALL_CHANGE } from "./change-size.ts";
import { CompileSchedule } from "./compile-schedule.ts";
import { openFeeds } from "./open-feeds.ts";
import { ServedScope } from "./served-scope.ts";
import type { ServingParts } from "./serving-parts.ts";

/**
 * Holds the live clusters and answers from what they are compiled into, in each scope: one generation for all scopes that
 * differ in their view only. A cluster whose lease expired leaves the answers.
 */
export class Serving<Generation extends ServedGeneration> {
  readonly everything: ScopedGateway<Generation>;
  /** By `visibilityKey`, that of everything included. */
  readonly scopes: ReadonlyMap<string, ScopedGateway<Generation>>;
  /** The pushes that are not in the answers yet. */
  readonly backlog: PushBacklog;
  /** The desired state of clusters, by `visibilityKey` without a view. */
  readonly feeds: ReadonlyMap<string, DesiredFeed>;
  readonly #parts: ServingParts<Generation>;
  readonly #index: ServiceIndex;
  /** What the index does not have yet, in order. */
  readonly #changes: Generator<void>[] = [];
  /** Entries of `#changes`; infinite where they touch services that they do not name. */
  #entries = 0;
  /** `rankedSince` of each cluster as the index has it, or will have it with `#changes`. */
  readonly #ranked = new Map<string, number>();
  /** Clusters that left on purpose since the index was brought up to date. */
  #left = new Set<string>();
  readonly #servedScopes: readonly ServedScope<Generation>[];
  readonly #schedule: CompileSchedule;
  readonly #leases: LeaseWatch;
  /** The newest entry of a shared log that is in the answers. */
  #position: number | undefined;
  #closed = false;

  /** @throws {RangeError} for a scope that contradicts itself, or has a range that is none */
  constructor(parts: ServingParts<Generation>) {
    this.#parts = parts;
    const { clock, turns, mostBehind } = parts;
    this.#index = new ServiceIndex(parts.remembered);
    this.backlog = new PushBacklog(clock, mostBehind, (clusterId) => this.clusters.live.has(clusterId));
    const servedScopes = new Map<string, ServedScope<Generation>>();
    const scopes = new Map<string, ScopedGateway<Generation>>();
    const scopeOf = (visible: Visibility) => {
      const key = visibilityKey(visible);
      const servedScope = servedScopes.get(key) ?? new ServedScope(visible, this.#index, parts);
      servedScopes.set(key, servedScope);
      return servedScope;
    };
    for (const scope of [EVERYTHING, ...parts.scopes]) {
      checkVisibility(scope);
      scopes.set(visibilityKey(scope), this.#answersIn(scope, scopeOf(withoutView(scope))));
    }
    this.feeds = openFeeds(parts, this.#index, scopeOf);
    this.#servedScopes = [...servedScopes.values()];
    this.scopes = scopes;
    this.everything = scopes.get(visibilityKey(EVERYTHING))!;
    this.#schedule = new CompileSchedule(clock, turns, () => this.#compile());
    const onDue = () => {
      this.expireNow();
      this.#watchLeases();
    };
    this.#leases = parts.watchLeases?.(onDue) ?? new LeaseTimer(clock, onDue);
  }

  /** Every cluster, whatever the scope. */
  get clusters(): LiveClusters {
    return this.#servedScopes[0]!.clusters;
  }

  /** Begins with what a store kept, and resolves when that is answered from. Clusters whose lease ran out meanwhile are not brought to life. */
  async start(kept: readonly HeldCluster[], now: number): Promise<void> {
    this.#resume(kept);
    if (now >= this.clusters.nextExpiry) {
      // What they had is shown with them. Nobody waits yet.
      for (const _ of this.#update());
      for (const scope of this.#servedScopes) for (const _ of scope.settle());
    }
    this.#takeExpired(now);
    const live = new Set(this.clusters.live.keys());
    for (const scope of this.#servedScopes) scope.remember(this.#parts.reverse.history(scope.key, live));
    this.#watchLeases();
    if (this.#servedScopes.some(({ clusters }) => !clusters.unknown)) await this.#schedule.runNow();
    this.#position ??= this.#parts.position?.();
  }

  /**
   * Takes what a cluster pushed; `compile` has it answered from. @param change from what it had before, if it was live
   * @param ranked services in which the cluster has another rank
   */
  set(cluster: HeldCluster, change: HeldDelta, ranked: readonly string[]): void {
    this.#set(cluster, change);
    this.reconsider(cluster.clusterId, ranked);
  }

  /** Retains what a change is going to replace, in steps, until `set` takes the change over or `release` drops it: answers have the rank of what they are made of. */
  retain(clusterId: string, change: HeldDelta): Generator<void> {
    return this.#index.retain(clusterId, change);
  }

  /** Drops a change that is not going to come. */
  release(clusterId: string, change: HeldDelta): void {
    this.#index.release(clusterId, change);
  }

  /** Takes over that a cluster has another rank in some services, for the next compilation. */
  reconsider(clusterId: string, ranked: readonly string[]): void {
    this.#ranked.set(clusterId, this.#parts.remembered.rankedSince(clusterId));
    if (ranked.length > 0) this.#follow(this.#index.reconsider(clusterId, ranked), ranked.length);
  }

  /** Takes over renewed leases; nothing is compiled. */
  renew(): void {
    for (const servedScope of this.#servedScopes) servedScope.renew();
    this.#watchLeases();
  }

  /** Forgets a cluster that left on purpose; `compile` has it give up its claims on addresses. @returns false where it was not known */
  leave(clusterId: string, generation?: number): boolean {
    let known = false;
    for (const { clusters } of this.#servedScopes) known = clusters.leave(clusterId, generation) || known;
    this.#follow(this.#index.leave(clusterId));
    this.#left.add(clusterId);
    return known;
  }

  /** Takes a cluster out whose lease expired, before `expireNow` would. @returns it, if it was live */
  lapse(clusterId: string): HeldCluster | undefined {
    const [lapsed] = this.#servedScopes.map(({ clusters }) => clusters.lapse(clusterId));
    if (lapsed !== undefined) this.#follow(this.#index.leave(clusterId));
    return lapsed;
  }

  /** Remembers a cluster that went before this gateway knew it. */
  recall(clusterId: string, gone: Gone): void {
    for (const servedScope of this.#servedScopes) servedScope.recall(clusterId, gone);
  }

  /** Takes over which claims on addresses come first, for the next compilation. @param names see `ReverseOrders.changesIn` */
  adopt(names: readonly string[]): void {
    if (names.length > 0) this.#follow(this.#adopt(names));
  }

  *#adopt(names: readonly string[]): Generator<void> {
    const { reverse } = this.#parts;
    const services = new Map<string, Set<string>>();
    for (const servedScope of this.#servedScopes)
      for (const claim of yield* servedScope.adopt(reverse.changesIn!(servedScope.key, names)))
        services.set(claimant(claim), (services.get(claimant(claim)) ?? new Set()).add(serviceOf(claim)));
    for (const [clusterId, keys] of services) yield* this.#index.reconsider(clusterId, keys);
  }

  /** Resolves when all scopes have what was there at the time of the call, or could not be compiled from it, and what a restart needs of their reverse names is kept. */
  async compile(): Promise<void> {
    await this.#schedule.request(this.#entries <= SMALL_CHANGE);
    await this.#parts.reverse.kept();
  }

  /** Drops clusters whose lease has expired. @returns the time now, in Unix milliseconds */
  expireNow(now = this.#parts.clock.now()): number {
    if (now >= this.clusters.nextExpiry) {
      this.#takeExpired(now);
      void this.#schedule.runNow();
      this.#watchLeases();
    }
    return now;
  }

  close(): void {
    this.#parts.control?.close();
    this.#closed = true;
    this.#leases.stop();
  }

  /** Answers from the generation of a scope. Where the scope has a view, every client has that view, and no other cluster's view exists. */
  #answersIn({ view }: Visibility, servedScope: ServedScope<Generation>): ScopedGateway<Generation> {
    const { stages, mostBehind } = this.#parts;
    const behindSince = (now: number) => {
      const failed = servedScope.failedAt ?? Number.POSITIVE_INFINITY;
      const since = Math.min(
        ...[failed, this.#parts.disconnectedAt?.() ?? failed].filter((at) => now - at > mostBehind),
        this.backlog.behindSince(now) ?? Number.POSITIVE_INFINITY,
      );
      return since === Number.POSITIVE_INFINITY ? undefined : since;
    };
    const current = (now?: number) => {
      this.expireNow(now);
      return servedScope.served;
    };
    return {
      current,
      terms: (now) => ({ ...servedScope.terms, behindSince: behindSince(now) }),
      answer(query, given, now, transport) {
        const served = current(now);
        const asked = { view: view ?? given, transport };
        if (served === undefined) return stages.notReady(query, asked);
        const { generation, leases } = served;
        const stale = behindSince(now) !== undefined;
        return stages.resolve(query, { ...asked, generation, leases, now, stale });
      },
      hasCluster: (clusterId) => (view ?? clusterId) === clusterId && servedScope.clusters.has(clusterId),
      hasLeft: (clusterId) => servedScope.clusters.left.has(clusterId),
      status: () => {
        const since = behindSince(this.expireNow());
        return {
          ...servedScope.status(),
          ...(since !== undefined && { behindSince: since }),
          ...(this.#position !== undefined && { position: this.#position }),
        };
      },
    };
  }

  /** Has what a store kept indexed: first the clusters of the generation that was kept, for scopes that go on from it. */
  #resume(kept: readonly HeldCluster[]): void {
    const known = this.#parts.generations?.resumable?.("");
    const compiled = new Set(known?.clusters.map(({ clusterId }) => clusterId));
    const joined = kept.filter(({ clusterId }) => compiled.has(clusterId));
    for (const { clusterId } of kept) this.reconsider(clusterId, []);
    for (const cluster of joined) this.#set(cluster);
    const pushes = this.#pushesOf(new Map(joined.map((cluster) => [cluster.clusterId, cluster])));
    const lost = joined.find(({ clusterId }) => this.#parts.remembered.isLost(clusterId))?.clusterId;
    const isEmpty = kept.length === 0 || known?.clusters.length === 0;
    for (const scope of isEmpty ? [] : this.#servedScopes) this.#follow(scope.resume(pushes, lost));
    for (const cluster of kept) if (!compiled.has(cluster.clusterId)) this.#set(cluster);
  }

  #pushesOf(clusters: ReadonlyMap<string, HeldCluster>): ReadonlyMap<string, CompiledPush> {
    const ranked = (id: string) => ({ ranked: this.#ranked.get(id) });
    const pushOf = ({ generation }: ClusterMeta, id: string) => ({ generation, ...ranked(id) });
    return new Map(Array.from(clusters, ([id, { meta }]) => [id, pushOf(meta, id)]));
  }

  #set(cluster: HeldCluster, change?: HeldDelta): void {
    const { clusterId } = cluster;
    const isKnown = change !== undefined && this.clusters.live.has(clusterId);
    for (const servedScope of this.#servedScopes) servedScope.set(cluster);
    if (isKnown) this.#follow(this.#index.change(clusterId, change), entriesOf(change));
    else this.#follow(this.#index.join(clusterId, cluster.state));
  }

  #follow(steps: Generator<void>, entries = Number.POSITIVE_INFINITY): void {
    this.#changes.push(steps);
    this.#entries += entries;
  }

  /** Brings the index up to date, in steps. */
  *#update(): Generator<void> {
    for (let next = this.#changes.shift(); next !== undefined; next = this.#changes.shift()) yield* next;
    this.#entries = 0;
  }

  *#compile(): Generator<void> {
    const position = this.#parts.position?.();
    yield* this.#update();
    // A cluster that leaves from now on is compiled once more. It gives its claims up at the beginning of the next compilation.
    const left = this.#left;
    this.#left = new Set();
    const pushes = this.#pushesOf(this.clusters.live);
    for (const servedScope of this.#servedScopes) yield* servedScope.compile(pushes, left);
    for (const { key, reverse } of this.#servedScopes)
      yield* this.#parts.reverse.update(key, reverse.orders, position);
    for (const feed of this.feeds.values()) yield* feed.update();
    this.#position = position;
    if (this.#parts.share !== undefined) yield* this.#parts.share();
    // Not before: threads that answer get the leases together with what was compiled.
    this.#watchLeases();
  }

  #takeExpired(now: number): void {
    const [all = []] = this.#servedScopes.map(({ clusters }) => clusters.takeExpired(now));
    for (const { clusterId } of all) this.#follow(this.#index.leave(clusterId));
    this.#parts.onExpired(all);
  }

  #watchLeases(): void {
    if (!this.#closed) this.#leases.watch(this.clusters.nextExpiry);
  }
}
