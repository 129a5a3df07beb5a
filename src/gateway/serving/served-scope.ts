import { MergedServices } from "../../merge/index/merged-services.ts";
import type { ServiceIndex } from "../../merge/index/service-index.ts";
import { type Visibility, visibilityKey } from "../../merge/visibility/visibility.ts";
import type { Gone } from "../../store/shared/shared-log.ts";
import { messageOf } from "../../store/store-error.ts";
import { NO_HISTORY, type ReverseHistory } from "../../zone/reverse/reverse-history.ts";
import { type AddressKey, isSameOrder, type ReverseClaim } from "../../zone/reverse/reverse-order.ts";
import type { ScopeTerms, ServedZone } from "../doh-gateway.ts";
import type { GatewayStatus } from "../gateway-types.ts";
import type { CompiledPush } from "../keeping/generation-store.ts";
import { whyNotResumed } from "../keeping/why-not-resumed.ts";
import type { HeldCluster } from "../leases/held-cluster.ts";
import { LeaseTables } from "../leases/lease-tables.ts";
import { LiveClusters } from "../leases/live-clusters.ts";
import { reportedIn } from "../remembered/reported-addresses.ts";
import { withoutClaimsOf, withoutClusters } from "../remembered/reverse-memory.ts";
import type { ScopeCompiler, ServedGeneration } from "../stages.ts";
import { IndexSource } from "./index-source.ts";
import { zoneOf } from "./served-zone.ts";
import type { ScopeParts } from "./serving-parts.ts";

const NO_PUSH: CompiledPush = { generation: 0 };

/**
 * The clusters that exist in a scope, and what is answered from there: the newest compilation of them that succeeded. As in a gateway to which
 * nothing else was ever pushed.
 */
export class ServedScope<Generation extends ServedGeneration> {
  readonly clusters: LiveClusters;
  /** As `visibilityKey` has it. */
  readonly key: string;
  readonly #parts: ScopeParts<Generation>;
  readonly #services: MergedServices;
  readonly #source: IndexSource;
  readonly #compiler: ScopeCompiler<Generation>;
  #served: ServedZone<Generation> | undefined;
  #error: string | undefined;
  #failedAt: number | undefined;
  /** Whether the served generation knows every cluster that denying a name needs. */
  #ready = false;
  /** Whether the first compilation follows what a process before compiled. */
  #isResumed = false;
  /** The live clusters that the served generation was compiled from, with the generation of each one's push. */
  #compiled: ReadonlyMap<string, CompiledPush> = new Map();
  /** Who has which address, as of the newest compilation. */
  #reverse: ReverseHistory = NO_HISTORY;
  /** Clusters that left on purpose, and whose claims the newest compilation may have. */
  readonly #left = new Set<string>();

  /**
   * @param scope without a view
   * @throws {RangeError} for a scope that contradicts itself, or has a range that is none
   */
  constructor(scope: Visibility, index: ServiceIndex, parts: ScopeParts<Generation>) {
    this.key = visibilityKey(scope);
    this.#parts = parts;
    const services = new MergedServices(index, scope, parts.stages.merging);
    this.#services = services;
    this.#source = new IndexSource(index, services);
    this.#compiler = parts.stages.createCompiler(this.key);
    this.clusters = new LiveClusters(parts.mostLapsed, parts.hold, (clusterId) =>
      services.countsOf(clusterId),
    );
  }

  /** What is answered from; undefined while names cannot be denied: nothing is loaded, or every cluster died. */
  get served(): ServedZone<Generation> | undefined {
    return this.#ready && !this.clusters.unknown ? this.#served : undefined;
  }

  /** The services of the scope. */
  get services(): MergedServices {
    return this.#services;
  }

  /** Who came first where several clusters report one address. */
  get reverse(): ReverseHistory {
    return this.#reverse;
  }

  /** Begins with what is known of addresses. */
  remember(history: ReverseHistory): void {
    this.#reverse = history;
  }

  /** Remembers a cluster that went before this gateway knew it, if it exists in the scope. */
  recall(clusterId: string, gone: Gone): void {
    if (this.#services.filter?.hasCluster(clusterId) !== false) this.clusters.recall(clusterId, gone);
  }

  /** Takes over which claims come first, in steps. @returns claims whose services have to be compiled again */
  *adopt(
    orders: ReadonlyMap<AddressKey, readonly ReverseClaim[] | undefined>,
  ): Generator<void, ReverseClaim[]> {
    const before = this.#reverse.orders;
    const changed = new Map([...orders].filter(([key, order]) => !isSameOrder(order, before.get(key))));
    this.#reverse = { ...this.#reverse, orders: yield* before.withInSteps(changed) };
    return Array.from(changed, ([key, order = []]) => [...order, ...(before.get(key) ?? [])]).flat();
  }

  /** Since when what there is cannot be compiled, in Unix milliseconds; undefined where it could be. */
  get failedAt(): number | undefined {
    return this.#failedAt;
  }

  set(cluster: HeldCluster): void {
    if (this.#services.filter?.hasCluster(cluster.clusterId) !== false) this.clusters.set(cluster);
  }

  /**
   * Goes on from what a process before kept, in steps, if that was compiled from what the index has: then the first compilation is one of what changes from now on.
   * Otherwise an event says why not.
   * @param joined the clusters of the index, by id, with their push and rank as a generation has them
   * @param lost a cluster of which nothing is remembered
   */
  *resume(joined: ReadonlyMap<string, CompiledPush>, lost: string | undefined): Generator<void> {
    const { generations, onEvent } = this.#parts;
    if (generations?.resumable === undefined || this.#compiler.resume === undefined) return;
    const { key } = this;
    const { filter } = this.#services;
    const visible = new Map([...joined].filter(([id]) => filter?.hasCluster(id) !== false));
    const why =
      lost === undefined
        ? whyNotResumed(generations.resumable(key), visible)
        : `when services of ${lost} were first seen is not known any more`;
    const compileEverything = (because: string) =>
      onEvent({ event: "compiles-everything", ...this.#named, because });
    if (why !== undefined) return compileEverything(why);
    try {
      this.#source.clustersChanged();
      yield* this.#services.resume(yield* this.#compiler.resume(this.#source));
      generations.resumed!(key);
      this.#isResumed = true;
    } catch (error) {
      // What is missing or damaged is compiled, and then it is kept again.
      compileEverything(messageOf(error));
    }
  }

  /** Takes over renewed leases, without compiling. */
  renew(): void {
    this.clusters.leasesChanged();
    this.#renewServed();
  }

  /** Merges what changed in the index, in steps, and compiles nothing: a compiler that goes on from what a process before kept has the changes to come. */
  *settle(): Generator<void> {
    const change = yield* this.#services.settle();
    if (this.#isResumed) this.#services.postpone(change);
    this.#source.clustersChanged();
  }

  /**
   * Compiles what the index has, in steps, unless that is what is served. A generation with the content of the one that is served does not replace
   * it. Must not throw, so that the other scopes are compiled whatever becomes of this one.
   * @param pushes what the index has of each live cluster
   * @param left clusters that left on purpose; the index lacks what they had
   */
  *compile(pushes: ReadonlyMap<string, CompiledPush>, left: ReadonlySet<string>): Generator<void> {
    const { clusters } = this;
    const services = this.#services;
    if (left.size > 0) yield* this.#dropClaims(left);
    services.withAbsent = clusters.hasLapsed;
    if (clusters.unknown && this.#served === undefined) {
      yield* this.settle();
      return;
    }
    if (services.hasChanged || this.#served === undefined || this.#error !== undefined)
      yield* this.#compileChange(pushes);
    else {
      this.#renewServed();
      this.#takePushes(pushes);
    }
    if (clusters.unknown) this.#ready = false;
    else if (this.#error === undefined) this.#ready = true;
  }

  /** What is known of clusters, for threads that answer. */
  get terms(): Omit<ScopeTerms, "behindSince"> {
    return { clusters: this.clusters.terms(this.#compiled) };
  }

  status(): GatewayStatus {
    const served = this.#served;
    const error = this.#error;
    return {
      ready: this.served !== undefined,
      rootHash: served?.generation.rootHash,
      generationBytes: served?.generation.byteLength ?? 0,
      services: served?.services ?? 0,
      clusters: this.clusters.statuses(this.#compiled),
      conflicts: served?.conflicts ?? [],
      findings: served?.findings ?? [],
      ...(error === undefined ? {} : { compileError: error }),
    };
  }

  /** Drops the claims of clusters. */
  *#dropClaims(left: ReadonlySet<string>): Generator<void> {
    const isLive = (clusterId: string) => this.clusters.live.has(clusterId);
    this.#reverse = { ...this.#reverse, orders: yield* withoutClusters(this.#reverse.orders, left, isLive) };
    for (const clusterId of left) this.#left.add(clusterId);
  }

  *#compileChange(pushes: ReadonlyMap<string, CompiledPush>): Generator<void> {
    const { clock, onEvent } = this.#parts;
    const services = this.#services;
    const startedAt = clock.now();
    try {
      const change = yield* services.settle();
      if (change.clusters) this.#source.clustersChanged();
      const reports = reportedIn((clusterId, service) => services.contributionOf(clusterId, service));
      const {
        generation: compiled,
        findings,
        reverse = this.#reverse,
      } = yield* this.#compiler.compile(
        this.#source,
        this.#served === undefined && !this.#isResumed ? "all" : change,
        startedAt,
        {
          ...this.#reverse,
          claimsOn: (bytes) => withoutClaimsOf(this.#left, this.#reverse.claimsOn(bytes)),
          reports,
        },
      );
      services.compiled();
      this.#reverse = reverse;
      this.#left.clear();
      const before = this.#served?.generation;
      const changed = before?.rootHash !== compiled.rootHash;
      const generation = changed || before === undefined ? compiled : before;
      const live = new Map(
        this.#source.clusters.map(({ clusterId }) => [clusterId, pushes.get(clusterId) ?? NO_PUSH]),
      );
      this.#keep(generation, live);
      const leases = new LeaseTables(this.clusters.expiresAt);
      this.#served = zoneOf(generation, leases, services, findings, () => this.clusters.contended());
      this.#compiled = live;
      this.#error = undefined;
      this.#failedAt = undefined;
      onEvent({
        event: "compiled",
        ...this.#named,
        changed,
        rootHash: generation.rootHash,
        generationBytes: generation.byteLength,
        services: services.size,
        milliseconds: clock.now() - startedAt,
      });
    } catch (error) {
      this.#failed(error, startedAt);
    }
  }

  /** Takes over pushes that change nothing in the scope. */
  #takePushes(pushes: ReadonlyMap<string, CompiledPush>): void {
    const served = this.#served;
    const compiled = [...this.#compiled];
    const live = new Map(compiled.map(([id]) => [id, pushes.get(id) ?? NO_PUSH]));
    if (served === undefined || compiled.every(([id, push]) => isSamePush(push, live.get(id)!))) return;
    try {
      this.#keep(served.generation, live);
      this.#compiled = live;
    } catch (error) {
      this.#failed(error, this.#parts.clock.now());
    }
  }

  #keep(generation: Generation, live: ReadonlyMap<string, CompiledPush>): void {
    const { generations } = this.#parts;
    if (generations === undefined) return;
    const services = this.#services;
    const clusters = Array.from(live, ([clusterId, push]) => {
      const { exports, imports } = services.countsOf(clusterId);
      return { clusterId, ...push, exports, imports };
    });
    generations.keep(this.key, generation, { services: services.size, clusters });
  }

  #failed(error: unknown, startedAt: number): void {
    this.#failedAt ??= startedAt;
    this.#error = messageOf(error);
    this.#parts.onEvent({ event: "compile-failed", ...this.#named, error });
  }

  /** The scope, for events. */
  get #named(): { readonly scope?: string } {
    const { key } = this;
    return key === "" ? {} : { scope: key };
  }

  #renewServed(): void {
    const served = this.#served;
    if (served !== undefined) served.leases = new LeaseTables(this.clusters.expiresAt);
  }
}

function isSamePush(one: CompiledPush, other: CompiledPush): boolean {
  return one.generation === other.generation && one.ranked === other.ranked;
}
