import { type Change, NoState } from "../database/prepare.ts";
import type { Damage, Reader } from "../database/reader.ts";
import type { ClusterMeta, Totals } from "../database/schema.ts";
import { Stage, type Staged } from "../database/stage.ts";
import { isDiskFailure, StoreError } from "../database/store-error.ts";
import { type Applied, DamagedCluster, type Event, StaleChange, type Writer } from "../database/writer.ts";
import { checkVisibility, type Visibility, visibilityKey, withoutView } from "../merge/visibility.ts";
import { type AnsweringParts, AnsweringState } from "./answering-state.ts";
import { type ChangeOrder, ownOrder } from "./change-order.ts";
import { Turns, unixTime } from "./clock.ts";
import type { Control, DesiredFeed } from "./desired.ts";
import {
  type Acknowledgement,
  GenerationMismatch,
  type OnGatewayEvent,
  refuseLate,
  type ScopedGateway,
  type Sender,
  StoreHealth,
} from "./gateway-types.ts";
import {
  type Contention,
  type LeaseTerms,
  LeaseTimer,
  type LeaseWatch,
  leasedAt,
  ReportLog,
  type RequestedTerms,
  refuseOtherInstance,
  renewed,
  toStored,
} from "./leases.ts";
import {
  checkBounds,
  checkCharacters,
  checkNames,
  type GatewayLimits,
  leaseMilliseconds,
  PushRefused,
  serviceTooLarge,
} from "./limits.ts";
import { KeyedQueue, PushBacklog, type SettlePush } from "./push-backlog.ts";

/** What a gateway is put together from. */
export interface GatewayParts
  extends Omit<AnsweringParts, "turns" | "behindSince" | "store" | "contentionOf" | "onExpired"> {
  /** Of the database that `reader` reads. What it has applied is durable. */
  readonly writer: Writer;
  /** In which changes are applied. Default: this gateway alone changes the database. */
  readonly order?: ChangeOrder | undefined;
  readonly onEvent: OnGatewayEvent;
  readonly limits: GatewayLimits;
  /** What calls `onDue` when the next lease expires. Default: a timer of the clock. */
  readonly watchLeases?: ((onDue: () => void) => LeaseWatch) | undefined;
  /** Which clusters may read what the gateway desires in them. Default: none. */
  readonly control?: Control | undefined;
  /** Called when answers may be others than before, or their leases. */
  readonly onChange?: (() => void) | undefined;
  /** Called with a lease that goes on although the disk did not take its renewal. */
  readonly onLeaseHeld?: ((clusterId: string, meta: ClusterMeta) => void) | undefined;
}

/** A push that was taken. */
export interface TakenPush {
  readonly acknowledgement: Acknowledgement;
  readonly change: Change;
}

/** How often a change is decided again whose cluster changed meanwhile. */
const MOST_TRIES = 5;
const NO_ENTRIES: Staged["entries"] = new Map();

/** Takes what clusters push into the database, and answers from it. */
export class Gateway {
  /** What all its long work has in turn. */
  readonly turns: Turns;
  readonly state: AnsweringState;
  readonly #parts: GatewayParts;
  readonly #backlog: PushBacklog;
  /** Since when answers may lack a change, in Unix milliseconds; undefined while nothing says so. */
  readonly behindSince: PushBacklog["behindSince"];
  readonly #health: StoreHealth;
  readonly #reports: ReportLog;
  readonly #leases: LeaseWatch;
  readonly #order: ChangeOrder;
  /** What a cluster does, one after the other. */
  readonly #queue = new KeyedQueue();
  /** The desired state of clusters, by `visibilityKey` without a view. */
  readonly #feeds: ReadonlyMap<string, DesiredFeed>;
  /** By cluster: who pushes beside the worker that holds its lease. */
  readonly #contentions = new Map<string, Contention>();
  /** Clusters whose expiry is being written. */
  readonly #expiring = new Set<string>();
  #isWritingExpiries = false;
  #isClosed = false;

  /** @throws {RangeError} for a scope that contradicts itself, or has a range that is none */
  constructor(parts: GatewayParts) {
    const { writer, clock, onEvent, limits, watchLeases } = parts;
    this.#parts = parts;
    this.turns = new Turns(clock);
    this.#health = new StoreHealth(clock, onEvent, (id) => this.state.live.has(id));
    this.#reports = new ReportLog(clock, onEvent);
    this.#order = parts.order ?? ownOrder(writer, clock, this.turns);
    const isLive = (id: string) => this.state.live.has(id);
    this.#backlog = new PushBacklog(clock, limits.pushDelaySeconds * 1000, isLive, this.#order);
    this.behindSince = this.#backlog.behindSince;
    this.state = new AnsweringState({
      ...parts,
      scopes: [...(parts.scopes ?? []), ...controlScopes(parts.control)],
      turns: this.turns,
      behindSince: this.behindSince,
      store: () => {
        const trouble = this.#order.trouble ?? this.#health.trouble;
        return {
          ...(this.#order.isShared && { position: this.state.position }),
          ...(trouble !== undefined && { storeTrouble: trouble }),
        };
      },
      contentionOf: (id) => this.#contentions.get(id),
      onExpired: (clusterId, meta) => this.#expired(clusterId, meta),
    });
    this.#feeds = this.#openFeeds();
    const onDue = () => {
      this.state.expireNow();
      this.#changed();
    };
    this.#leases = watchLeases?.(onDue) ?? new LeaseTimer(clock, onDue);
    this.#order.follow({
      applied: (applied) => this.#applied(applied),
      reloaded: () => {
        this.state.reload();
        this.#changed();
      },
    });
    onDue();
  }

  /** The gateway for clients for whom everything exists. */
  get everything(): ScopedGateway {
    return this.state.everything;
  }

  /** @throws {RangeError} for a scope that it was not opened with */
  within(scope: Visibility): ScopedGateway {
    return this.state.within(scope);
  }

  /** The desired state of clusters as things exist in a scope; undefined where no cluster may read it. */
  desiredWithin(scope: Visibility): DesiredFeed | undefined {
    return this.#feeds.get(visibilityKey(withoutView(scope)));
  }

  /** Milliseconds of the clock by which leases expire. */
  now(): number {
    return this.#parts.clock.now();
  }

  /** What the wall clock shows at an instant that this gateway gave, in Unix milliseconds. */
  unixTime(at: number): number {
    return unixTime(this.#parts.clock, at);
  }

  /**
   * Notes that a whole push of a cluster arrived. Until it is settled it counts as missing in the answers,
   * which say that they are stale once that takes too long.
   */
  arrived(clusterId: string): SettlePush {
    return this.#backlog.arrived(clusterId);
  }

  /**
   * Takes the lines of a push, for `push`.
   * @param base for changes: the generation that they build on
   * @throws {GenerationMismatch} where another one is held; from the stage, where a row that the lines change
   * is damaged
   * @throws {PushRefused} from the stage, where lines name far more than a cluster may have
   */
  stage(clusterId: string, kind: Staged["kind"], base?: number): Stage {
    if (kind === "changes") this.#checkHeld(clusterId, base);
    const { reader } = this.#parts.writer;
    const entry: Reader["entry"] = (...place) => {
      try {
        return reader.entry(...place);
      } catch (error) {
        if (!(error instanceof DamagedCluster)) throw error;
        this.damaged(error.damage);
        if (kind === "changes") throw new GenerationMismatch(undefined);
        return undefined;
      }
    };
    return new Stage({ entry }, clusterId, kind, (...names) => checkNames(this.#parts.limits, ...names));
  }

  /**
   * Takes what a cluster pushed: when this resolves it is stored, and in the answers of every scope. A large
   * push gets there service by service.
   * @param base for changes: the generation that they build on
   * @throws {PushRefused} above the limits @throws {OtherInstance} @throws {GenerationMismatch} @throws
   * {SenderGone} see `refuseLate` @throws {StoreError} where the disk fails
   */
  push(
    staged: Staged,
    requested: RequestedTerms = {},
    sender: Sender = {},
    base?: number,
  ): Promise<TakenPush> {
    const { clock, onEvent } = this.#parts;
    const { cluster: clusterId, kind } = staged;
    const terms = this.#terms(requested);
    return this.#inTurn(clusterId, async () => {
      const now = this.state.expireNow();
      this.refuseOther(clusterId, terms.instance);
      if (kind === "changes") this.#checkHeld(clusterId, base);
      const held = this.state.live.get(clusterId);
      // Never below the clock: a gateway that lost its state must not take a delta for another state. Nor
      // below the generation before, should the clock have been set back since.
      const generation = Math.max(this.state.generationOf(clusterId) + 1, unixTime(clock, now));
      const meta = { generation, pushedAt: now, ...leasedAt(now, terms, held?.instance) };
      const change = await this.#take(staged, meta, ({ totals, tooLarge }) => {
        checkBounds(this.#parts.limits, totals);
        if (tooLarge !== undefined) throw serviceTooLarge(this.#parts.limits, tooLarge);
        if (kind === "changes") checkCharacters(this.#parts.limits, totals);
        this.#admit(clusterId);
        refuseLate(sender, {
          generation: this.state.live.get(clusterId)?.generation,
          left: this.state.left.get(clusterId),
        });
        if (this.state.generationOf(clusterId) >= generation) throw new StaleChange("another push was taken");
      });
      onEvent({ event: "pushed", clusterId, generation, kind: kind === "whole" ? "snapshot" : "patch" });
      return { acknowledgement: this.#acknowledge(clusterId, meta), change };
    });
  }

  /**
   * Renews a cluster's lease, or gives it a new one where it expired. Where the gateway's own disk does not
   * take that, a lease that runs goes on all the same: what is answered needs no disk.
   * @throws {GenerationMismatch} when that generation is not held @throws {PushRefused} TOO_MANY_CLUSTERS
   * @throws {StoreError} where the lease expired, and the disk fails
   */
  renew(clusterId: string, generation: number, requested: RequestedTerms = {}): Promise<Acknowledgement> {
    const terms = this.#terms(requested);
    return this.#inTurn(clusterId, async () => {
      const now = this.state.expireNow();
      this.refuseOther(clusterId, terms.instance);
      const meta = renewed(this.#checkHeld(clusterId, generation), now, terms);
      const renewal = { cluster: clusterId, kind: "changes", entries: NO_ENTRIES } as const;
      try {
        await this.#take(renewal, meta, () => {
          this.#checkHeld(clusterId, generation);
          this.#admit(clusterId);
        });
      } catch (error) {
        if (!isDiskFailure(error) || !this.state.live.has(clusterId) || this.#order.isShared) throw error;
      }
      return this.#acknowledge(clusterId, meta);
    });
  }

  /**
   * Looks whether another worker holds the cluster's lease. Pushes and renewals look themselves.
   * @throws {OtherInstance}
   */
  refuseOther(clusterId: string, instance: string | undefined): void {
    this.state.expireNow();
    const meta = this.state.live.get(clusterId);
    if (meta !== undefined) refuseOtherInstance(this.#contentions, clusterId, meta, instance, this.#parts);
  }

  /**
   * Forgets a cluster on its own wish.
   * @returns false where it was not known
   * @throws {OtherInstance} @throws {SenderGone} @throws {GenerationMismatch} see `refuseLate` @throws
   * {StoreError} where the disk fails: then it has not left
   */
  leave(clusterId: string, sender: Sender = {}): Promise<boolean> {
    return this.#inTurn(clusterId, async () => {
      this.refuseOther(clusterId, sender.instance);
      const isKnown = this.everything.hasCluster(clusterId);
      refuseLate(sender, { generation: this.state.live.get(clusterId)?.generation });
      await this.#append({ kind: "departure", cluster: clusterId });
      this.#contentions.delete(clusterId);
      if (isKnown) this.#parts.onEvent({ event: "left", clusterId });
      return isKnown;
    });
  }

  /** How much a cluster has; undefined where it is not live. */
  totalsOf(clusterId: string): Totals | undefined {
    return this.state.live.has(clusterId) ? this.#parts.writer.reader.cluster(clusterId)?.totals : undefined;
  }

  /**
   * A row was found damaged while answers were made of it: its cluster leaves them until it pushes in full.
   * May be called for each such row.
   */
  damaged(damage: Damage): void {
    if (this.everything.hasCluster(damage.cluster))
      void this.#attempt({ kind: "damage", cluster: damage.cluster }, damage);
  }

  /** Lets pushes in progress end. What is served goes on being served. */
  async close(): Promise<void> {
    this.#parts.control?.close();
    this.#leases.stop();
    await this.#queue.idle();
    this.#isClosed = true;
    this.#order.close();
  }

  /**
   * Runs what a cluster does when all before it is done, and again where its rows changed meanwhile, or one
   * of them is damaged: a whole push replaces all that it had.
   */
  #inTurn<Result>(clusterId: string, task: () => Promise<Result>): Promise<Result> {
    return this.#queue.run(clusterId, async () => {
      for (let tries = 1; ; tries++)
        try {
          return await task();
        } catch (error) {
          if (error instanceof NoState) throw new GenerationMismatch(undefined);
          if (error instanceof DamagedCluster)
            await this.#append({ kind: "damage", cluster: error.damage.cluster }, error.damage);
          else if (!(error instanceof StaleChange)) throw error;
          if (tries === MOST_TRIES) throw new GenerationMismatch(this.state.generationOf(clusterId));
        }
    });
  }

  #openFeeds(): Map<string, DesiredFeed> {
    const { control, onEvent } = this.#parts;
    const feeds = new Map<string, DesiredFeed>();
    for (const scope of controlScopes(control)) {
      const key = visibilityKey(scope);
      if (feeds.has(key)) continue;
      const readers = control!.clusters.filter(
        ({ visibility }) => visibilityKey(withoutView(visibility)) === key,
      );
      const within = this.within(scope);
      const feed = control!.createFeed({
        world: () => within.current()?.world,
        clusters: new Set(readers.map(({ clusterId }) => clusterId)),
        reachOf: control!.reachOf,
        expiresAt: (clusterId) => this.state.live.get(clusterId)?.expiresAt,
        onError: (error) => onEvent({ event: "desired-failed", error }),
      });
      this.state.followScope(scope, feed);
      feeds.set(key, feed);
    }
    return feeds;
  }

  /** Takes entries, or a renewal without any. @param check throws where it must not be applied */
  async #take(staged: Staged, meta: ClusterMeta, check: (change: Change) => void): Promise<Change> {
    const { writer, clock } = this.#parts;
    const { cluster: clusterId } = staged;
    const before = this.state.live.get(clusterId);
    const sight = { now: unixTime(clock, clock.now()), live: before !== undefined };
    const change = await this.turns.run(
      writer.prepare(staged, toStored(meta, clock), sight, this.#parts.limits.endpointsPerService),
    );
    check(change);
    try {
      await this.#append(change);
      return change;
    } catch (error) {
      // What is held of a cluster whose change the disk did not take goes on being answered.
      if (isDiskFailure(error) && before !== undefined && !this.#order.isShared) {
        const held = { ...meta, generation: before.generation, pushedAt: before.pushedAt };
        this.state.hold(clusterId, held);
        this.#parts.onLeaseHeld?.(clusterId, held);
        this.#changed();
      }
      throw error;
    }
  }

  async #append(change: Change | Event, damage?: Damage): Promise<void> {
    if (this.#isClosed) throw new StoreError("STORE_CLOSED", "the gateway is closed");
    await this.#health.must(change.cluster, () => this.#order.append(change));
    if (damage !== undefined) this.#parts.onEvent({ event: "rows-damaged", ...damage });
  }

  /** Appends what counts whether or not it can be stored. */
  async #attempt(event: Event, damage?: Damage): Promise<void> {
    try {
      await this.#append(event, damage);
    } catch (error) {
      if (!(error instanceof StoreError || error instanceof StaleChange)) throw error;
    }
  }

  /**
   * Writes into the database that leases expired. What could not be written is tried again with the next
   * change.
   */
  #writeExpiries(): void {
    // Each may be applied at once, which calls this again.
    if (this.#isWritingExpiries) return;
    this.#isWritingExpiries = true;
    for (const [cluster] of this.state.unwrittenExpiries()) {
      if (this.#expiring.has(cluster)) continue;
      this.#expiring.add(cluster);
      void this.#attempt({ kind: "expiry", cluster }).finally(() => this.#expiring.delete(cluster));
    }
    this.#isWritingExpiries = false;
  }

  /** Takes over what was applied to the database, whichever gateway took it. */
  #applied(applied: Applied): void {
    const { id: clusterId, state, meta } = applied.cluster;
    const before = this.state.live.get(clusterId);
    this.state.applied(applied);
    // Another gateway may have taken what this one could not.
    this.#health.works(clusterId);
    const after = this.state.live.get(clusterId);
    if (after !== undefined) this.#reports.take(clusterId, before ?? {}, after);
    if (after !== undefined && meta !== undefined) this.#backlog.takenElsewhere(clusterId, meta.renewedAt);
    if (before !== undefined && state === "expired") this.#noteExpired(clusterId, before);
    this.#writeExpiries();
    this.#changed();
  }

  #admit(clusterId: string): void {
    const { live } = this.state;
    if (live.has(clusterId) || live.size < this.#parts.limits.clusters) return;
    throw new PushRefused(
      "TOO_MANY_CLUSTERS",
      `the gateway holds its most of ${this.#parts.limits.clusters} clusters already`,
    );
  }

  #expired(clusterId: string, meta: ClusterMeta): void {
    this.#noteExpired(clusterId, meta);
    this.#writeExpiries();
    this.#removeExpired();
  }

  #noteExpired(clusterId: string, meta: ClusterMeta): void {
    this.#contentions.delete(clusterId);
    this.#parts.onEvent({ event: "lease-expired", clusterId, expiredAt: this.unixTime(meta.expiresAt) });
  }

  /** Of clusters whose lease expired only so many are kept: those that expired last. */
  #removeExpired(): void {
    const expired = [...this.state.expired].sort(([, one], [, other]) => other.expiresAt - one.expiresAt);
    for (const [cluster] of expired.slice(this.#parts.limits.clusters))
      void this.#attempt({ kind: "removal", cluster });
  }

  #changed(): void {
    if (this.#isClosed) return;
    this.#leases.watch(this.state.nextExpiry);
    this.#parts.onChange?.();
  }

  /** @throws {GenerationMismatch} where another generation of a cluster is held, or none */
  #checkHeld(clusterId: string, generation: number | undefined): ClusterMeta {
    const held = this.state.live.get(clusterId) ?? this.state.expired.get(clusterId);
    if (held === undefined || held.generation !== generation) throw new GenerationMismatch(held?.generation);
    return held;
  }

  /** @throws {PushRefused} LEASE_OUT_OF_RANGE */
  #terms({ leaseSeconds, report = {}, instance }: RequestedTerms): LeaseTerms {
    return { lease: leaseMilliseconds(this.#parts.limits, leaseSeconds), report, instance };
  }

  #acknowledge(clusterId: string, { generation, expiresAt }: ClusterMeta): Acknowledgement {
    return { clusterId, generation, expiresAt: this.unixTime(expiresAt) };
  }
}

/**
 * The scopes in which clusters read what is desired in them, without views.
 * @throws {RangeError} for a scope that contradicts itself
 */
function controlScopes(control: Control | undefined): Visibility[] {
  return (control?.clusters ?? []).map(({ visibility }) => {
    checkVisibility(visibility);
    return withoutView(visibility);
  });
}
