import { type Visibility, visibilityKey, withoutView } from "../merge/visibility/visibility.ts";
import type { Answer } from "../resolve/answer.ts";
import type { Transport } from "../resolve/message/transport.ts";
import type { HeldState } from "../snapshot/lines/held-state.ts";
import { DamageCounters } from "../store/damage-counters.ts";
import { createMemoryRememberedStore, type RememberedStore } from "../store/remembered/remembered-store.ts";
import type { SnapshotStore } from "../store/store.ts";
import { type Clock, unixTime } from "./clock.ts";
import type { Control } from "./desired/control.ts";
import type { DesiredFeed } from "./desired/desired-feed.ts";
import type { ScopedGateway, ScopeTerms, ServedZone } from "./doh-gateway.ts";
import type { OnGatewayEvent } from "./gateway-events.ts";
import type { Acknowledgement, GatewayStatus, Sender } from "./gateway-types.ts";
import type { GenerationStore } from "./keeping/generation-store.ts";
import { KeyedQueue } from "./keeping/keyed-queue.ts";
import { loadStore } from "./keeping/load-store.ts";
import type { LoadedState, StateSource } from "./keeping/loaded-state.ts";
import type { RequestedTerms } from "./leases/lease-terms.ts";
import type { LeaseWatch } from "./leases/lease-timer.ts";
import { DEFAULT_GATEWAY_LIMITS, type GatewayLimits } from "./pushing/limits.ts";
import type { SettlePush } from "./pushing/push-backlog.ts";
import { Pushes, type ValidChanges } from "./pushing/pushes.ts";
import type { SnapshotTotals } from "./pushing/snapshot-bounds.ts";
import type { WholeState } from "./pushing/whole-state.ts";
import { Serving } from "./serving/serving.ts";
import type { GatewayStages, ServedGeneration } from "./stages.ts";
import { Turns } from "./turns.ts";

/** What a gateway is put together from. */
export interface GatewayDependencies<Generation extends ServedGeneration> {
  /** A store of this gateway, or what several gateways share: see `replicaOf`. */
  readonly store: SnapshotStore | StateSource;
  /** Remembers which cluster came first, also after leases and restarts. Default: as long as the process lives. */
  readonly remembered?: RememberedStore;
  readonly stages: GatewayStages<Generation>;
  readonly clock: Clock;
  readonly onEvent: OnGatewayEvent;
  readonly limits?: Partial<GatewayLimits>;
  /** What calls `onDue` when the next lease expires. Default: a timer of the clock. */
  readonly watchLeases?: (onDue: () => void) => LeaseWatch;
  /** Brings what was compiled to where it is answered from beside this gateway, in steps. Called before a compilation counts as done. */
  readonly share?: () => Generator<void>;
  /** What the stores found damaged, for metrics. */
  readonly damage?: DamageCounters;
  /** Keeps what is compiled. Default: generations end with the process. */
  readonly generations?: GenerationStore<Generation> | undefined;
  /** The scopes that it answers in, beside everything. Default: none. */
  readonly scopes?: readonly Visibility[];
  /** Which clusters may read what the gateway desires in them. Default: none. */
  readonly control?: Control | undefined;
}

/**
 * Joins the stages: takes what clusters push, keeps it, compiles it and answers from the newest generation.
 * A cluster whose lease has expired leaves the answers, alone. Itself it is the gateway for whom everything exists.
 */
export class Gateway<Generation extends ServedGeneration> implements ScopedGateway<Generation> {
  /** What the stores found damaged. */
  readonly damage: DamageCounters;
  /** What all its long work has in turn. */
  readonly turns: Turns;
  readonly #store: SnapshotStore | StateSource;
  readonly #clock: Clock;
  readonly #serving: Serving<Generation>;
  readonly #pushes: Pushes<Generation>;
  #started: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(
    dependencies: GatewayDependencies<Generation>,
    turns: Turns,
    { precedence, reverse, hold, ...loaded }: LoadedState<Generation>,
  ) {
    const { stages, clock, onEvent, watchLeases, share, generations, scopes = [] } = dependencies;
    const limits = { ...DEFAULT_GATEWAY_LIMITS, ...dependencies.limits };
    this.#store = dependencies.store;
    this.#clock = clock;
    this.turns = turns;
    this.damage = dependencies.damage ?? new DamageCounters();
    this.#serving = new Serving({
      stages,
      clock,
      turns,
      onEvent,
      mostLapsed: limits.clusters,
      hold,
      position: loaded.position,
      disconnectedAt: loaded.disconnectedAt,
      generations,
      scopes,
      control: dependencies.control,
      remembered: precedence,
      reverse,
      mostBehind: limits.pushDelaySeconds * 1000,
      watchLeases,
      share,
      onExpired: (expired) => this.#pushes.forget(expired),
    });
    const serving = this.#serving;
    const parts = { precedence, clock, turns, limits, onEvent, serving };
    const queue = new KeyedQueue();
    this.#pushes = new Pushes(parts, loaded.createKeeper(parts, queue), queue, loaded.stateOf);
  }

  /**
   * Loads the store and serves what is live in it at once.
   * @throws {RangeError} for a scope that contradicts itself, or has a range that is none
   */
  static async open<Generation extends ServedGeneration>(
    dependencies: GatewayDependencies<Generation>,
  ): Promise<Gateway<Generation>> {
    const gateway = await Gateway.load(dependencies);
    await gateway.started;
    return gateway;
  }

  /** As `open`, without waiting until what was loaded is compiled: leases can be renewed meanwhile. Anything else must wait for `started`. */
  static async load<Generation extends ServedGeneration>(
    dependencies: GatewayDependencies<Generation>,
  ): Promise<Gateway<Generation>> {
    const { store, clock, damage = new DamageCounters() } = dependencies;
    const now = clock.now();
    const onEvent: OnGatewayEvent = (event) => {
      if (event.event === "memory-damaged") damage.countPart("memory");
      if (event.event === "memory-lost") damage.countPart("memory-lost");
      dependencies.onEvent(event);
    };
    const turns = new Turns(clock);
    const loaded: LoadedState<Generation> =
      "loadState" in store
        ? await store.loadState({ clock, turns, onEvent })
        : await loadStore(store, dependencies.remembered ?? createMemoryRememberedStore(), {
            ...{ clock, turns, onEvent },
          });
    const gateway = new Gateway({ ...dependencies, damage }, turns, loaded);
    for (const gone of loaded.gone ?? []) gateway.#serving.recall(gone.clusterId, gone);
    gateway.#started = gateway.#serving.start(loaded.kept, now);
    loaded.follow?.();
    // Whoever waits for it is told.
    gateway.#started.catch(() => {});
    return gateway;
  }

  /** Resolves when what was loaded is served. */
  get started(): Promise<void> {
    return this.#started;
  }

  /** The gateways by `visibilityKey` of their scopes, this one included, under the empty key. */
  get scopes(): ReadonlyMap<string, ScopedGateway<Generation>> {
    return this.#serving.scopes;
  }

  /**
   * The gateway as far as things exist in a scope: this one itself where that is everything.
   * @throws {RangeError} for a scope that it was not opened with
   */
  within(scope: Visibility): ScopedGateway<Generation> {
    const key = visibilityKey(scope);
    if (key === "") return this;
    const within = this.scopes.get(key);
    if (within === undefined) throw new RangeError(`the gateway was not opened with the scope ${key}`);
    return within;
  }

  /** The desired state of clusters as things exist in a scope; undefined where nobody may read it. */
  desiredWithin(scope: Visibility): DesiredFeed | undefined {
    return this.#serving.feeds.get(visibilityKey(withoutView(scope)));
  }

  /** Milliseconds of the clock by which leases expire. */
  now(): number {
    return this.#clock.now();
  }

  /** What the wall clock shows at an instant that this gateway gave, in Unix milliseconds. */
  unixTime(at: number): number {
    return unixTime(this.#clock, at);
  }

  /**
   * What is held of a cluster, whenever it is read: nothing of one that is not live.
   * @param generation the one that must be held now
   * @throws {GenerationMismatch} where another one is
   */
  held(clusterId: string, generation?: number): HeldState {
    return this.#pushes.held(clusterId, generation);
  }

  /**
   * Notes that a whole push of a cluster arrived. Until it is settled it counts as missing in the answers, which say that they are stale
   * once that takes too long.
   */
  arrived(clusterId: string): SettlePush {
    return this.#serving.backlog.arrived(clusterId);
  }

  /**
   * Replaces all that is known of a cluster by what was pushed, in slices. Resolves when it is kept and answered from.
   * @throws {SnapshotError} naming each field that is wrong. @throws {PushRefused} above the limits. @throws {SenderGone} @throws {GenerationMismatch} see `refuseLate`
   */
  replace(
    clusterId: string,
    whole: WholeState,
    terms: RequestedTerms = {},
    sender: Sender = {},
  ): Promise<Acknowledgement> {
    return this.#pushes.replace(clusterId, whole, terms, sender);
  }

  /** Counts what is held of a cluster, in steps: nothing of one that is not live. */
  count(clusterId: string): Generator<void, SnapshotTotals> {
    return this.#pushes.count(clusterId);
  }

  /**
   * Applies changes that were validated against the generation that they build on. Resolves when they are kept and answered from.
   * @throws {GenerationMismatch} when that generation is not held. @throws {PushRefused} above the limits.
   */
  change(
    clusterId: string,
    baseGeneration: number,
    changes: ValidChanges,
    terms: RequestedTerms = {},
  ): Promise<Acknowledgement> {
    return this.#pushes.change(clusterId, baseGeneration, changes, terms);
  }

  /**
   * Renews a cluster's lease; nothing is compiled.
   * @throws {GenerationMismatch} when that generation is not held, or the lease ran out already.
   */
  renew(clusterId: string, generation: number, terms: RequestedTerms = {}): Promise<Acknowledgement> {
    return this.#pushes.renew(clusterId, generation, terms);
  }

  /**
   * Looks whether another worker holds the cluster's lease. Pushes and renewals look themselves.
   * @throws {OtherInstance}
   */
  refuseOther(clusterId: string, instance: string | undefined): void {
    this.#serving.expireNow();
    this.#pushes.refuseOther(clusterId, instance);
  }

  /** Forgets a cluster on its own wish; false where it was not known. @throws {SenderGone} @throws {GenerationMismatch} see `refuseLate` */
  leave(clusterId: string, sender: Sender = {}): Promise<boolean> {
    return this.#pushes.leave(clusterId, sender);
  }

  current(now: number): ServedZone<Generation> | undefined {
    return this.#serving.everything.current(now);
  }

  terms(now: number): ScopeTerms {
    return this.#serving.everything.terms(now);
  }

  answer(
    query: Uint8Array,
    view: string | undefined,
    now: number,
    transport?: Transport,
  ): Answer | undefined {
    return this.#serving.everything.answer(query, view, now, transport);
  }

  hasCluster(clusterId: string): boolean {
    return this.#serving.everything.hasCluster(clusterId);
  }

  hasLeft(clusterId: string): boolean {
    return this.#serving.everything.hasLeft?.(clusterId) === true;
  }

  status(): GatewayStatus {
    const { storeTrouble } = this.#pushes;
    const status = this.#serving.everything.status();
    return storeTrouble === undefined ? status : { ...status, storeTrouble };
  }

  /** Lets pushes in progress end, then closes the store. What is served goes on being served. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#serving.close();
    await this.#pushes.close();
    await this.#store.close();
  }
}
