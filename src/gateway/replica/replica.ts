import type {
  ClusterEntry,
  LogEntry,
  LogFollower,
  SharedCluster,
  SharedFacts,
  SharedLog,
  Sight,
} from "../../store/shared/shared-log.ts";
import { isDiskFailure } from "../../store/store-error.ts";
import { unixTime } from "../clock.ts";
import { GenerationMismatch } from "../gateway-types.ts";
import type { StoreTrouble } from "../keeping/store-health.ts";
import type { HeldCluster, MeasuredChange } from "../leases/held-cluster.ts";
import { received } from "../leases/stored-lease.ts";
import type { Base } from "../pushing/change-keeper.ts";
import type { PushParts } from "../pushing/push-parts.ts";
import type { ServedGeneration } from "../stages.ts";
import type { DecidedOrders } from "./decided-orders.ts";
import { FollowedClusters } from "./followed-clusters.ts";
import { type KnownClusters, leftOf } from "./known-clusters.ts";
import { LeaseEnds } from "./lease-ends.ts";
import { type AddedEntry, Positions } from "./positions.ts";
import { RepeatedLeaves } from "./repeated-leaves.ts";
import { changesOf } from "./staged-lines.ts";

/** What follows a log. */
export interface ReplicaParts<Generation extends ServedGeneration> extends PushParts<Generation> {
  readonly log: SharedLog;
  readonly reverse: DecidedOrders;
}

/** A change that this gateway is adding to the log. */
export interface OwnChange {
  readonly cluster: HeldCluster;
  readonly measured: MeasuredChange;
  readonly sight: Sight | undefined;
  /** What it was decided on. */
  readonly base: Base;
  /** See `LogDraft.mark`. */
  readonly mark: string;
}

/** Applies the entries of a log, in their order, so that this gateway holds what all others hold. */
export class Replica<Generation extends ServedGeneration> implements LogFollower {
  readonly known: KnownClusters;
  readonly positions: Positions;
  /** Called when the log can be read again. */
  onConnected: () => void = () => {};
  readonly #parts: ReplicaParts<Generation>;
  readonly #clusters: FollowedClusters<Generation>;
  readonly #ends: LeaseEnds;
  readonly #leaves: RepeatedLeaves;
  readonly #own = new Map<string, OwnChange>();
  /** When a change is answered that is applied, by cluster id. */
  readonly #compiling = new Map<string, Promise<void>>();
  #trouble: StoreTrouble | undefined;
  #disconnectedAt: number | undefined;

  constructor(parts: ReplicaParts<Generation>, known: KnownClusters, position: number) {
    this.#parts = parts;
    this.known = known;
    const { log, clock, onEvent, serving } = parts;
    this.#clusters = new FollowedClusters(parts, known);
    this.positions = new Positions(clock, position);
    this.#ends = new LeaseEnds(log, known, clock, onEvent, (clusterId) => this.#lapse(clusterId));
    const generationOf = (clusterId: string) => serving.clusters.live.get(clusterId)?.meta.generation ?? 0;
    this.#leaves = new RepeatedLeaves({ log, known, clock, onEvent, generationOf });
  }

  /** Why the log cannot be read; undefined while it can. */
  get trouble(): StoreTrouble | undefined {
    return this.#trouble;
  }

  /** Since when the log cannot be read, by the gateway's clock. */
  get disconnectedAt(): number | undefined {
    return this.#disconnectedAt;
  }

  /** See `ChangeKeeper.baseOf`. @throws {GenerationMismatch} for a delta where the log does not have what is held */
  baseOf(clusterId: string, isDelta: boolean): Base {
    const known = this.known.get(clusterId);
    if (isDelta && known?.isHeld !== true) throw new GenerationMismatch(undefined);
    return known;
  }

  /** Expects a change of this gateway's among the entries, until `forget`. */
  expect(clusterId: string, own: OwnChange): void {
    this.#own.set(clusterId, own);
  }

  forget(clusterId: string): void {
    this.#own.delete(clusterId);
  }

  /**
   * Resolves when an entry of a cluster was applied, or is lost. @returns whether its cluster is since then as the entry says, or has changed again
   * @throws {StoreError} STORE_FAILED if it takes too long: the change counts as soon as the log can be read
   */
  async applied(clusterId: string, entry: AddedEntry, isHeld: boolean): Promise<boolean> {
    const { position, id, resets } = entry;
    // Positions are compared in one log alone: an engine that lost its data begins with small ones again.
    const isPassed = () =>
      this.positions.resets === resets && this.#clusters.positionOf(clusterId) >= position;
    await this.positions.until(() => this.known.get(clusterId)?.id === id || isPassed());
    const known = this.known.get(clusterId);
    return known?.id === id ? known.isHeld === isHeld : isPassed();
  }

  /** Resolves when all that was applied of a cluster is answered. */
  async answered(clusterId: string): Promise<void> {
    await this.#compiling.get(clusterId);
  }

  async apply(entry: LogEntry): Promise<void> {
    const { reverse, serving } = this.#parts;
    if (entry.kind === "orders") serving.adopt(reverse.adopt(entry.orders));
    else await this.#applyCluster(entry);
    this.positions.reach(entry.position);
    this.#compile(entry.kind === "orders" || entry.kind === "lease" ? [] : [entry.clusterId]);
  }

  async reload(
    clusters: AsyncIterable<SharedCluster>,
    { founding, orders, position }: SharedFacts,
    isLost: boolean,
  ): Promise<void> {
    const { precedence, serving, reverse, onEvent } = this.#parts;
    onEvent({ event: "log-reloaded", lost: isLost });
    if (founding !== undefined) precedence.found(founding);
    const seen = new Set<string>();
    const departed = this.known.departed();
    for await (const shared of clusters) {
      seen.add(shared.clusterId);
      await this.#reloadOne(shared, isLost);
    }
    for (const clusterId of [...this.known.ids(), ...serving.clusters.live.keys()])
      if (!seen.has(clusterId)) {
        if (!isLost) this.#clusters.takeOut(clusterId, "left");
        this.known.lose(clusterId, undefined);
      }
    serving.adopt(reverse.replace(orders));
    this.positions.reset(position);
    if (isLost) this.#leaves.repeat(departed);
    this.#compile(seen);
  }

  connection(reason: string | undefined): void {
    const { clock, onEvent } = this.#parts;
    if (reason === undefined) {
      if (this.#trouble !== undefined) onEvent({ event: "log-followed-again" });
      this.#trouble = undefined;
      this.#disconnectedAt = undefined;
      this.onConnected();
      void this.#parts.reverse.kept();
    } else {
      if (this.#trouble === undefined) onEvent({ event: "log-not-followed", reason });
      this.#disconnectedAt ??= clock.now();
      this.#trouble = { reason, since: unixTime(clock, this.#disconnectedAt) };
    }
  }

  close(): void {
    this.#ends.close();
    this.#leaves.close();
    this.#parts.reverse.close();
    this.positions.close();
  }

  /** @param clusterIds of which something changed */
  #compile(clusterIds: readonly string[] | ReadonlySet<string>): void {
    const compiled = this.#parts.serving.compile();
    for (const clusterId of clusterIds) this.#compiling.set(clusterId, compiled);
    void compiled.then(() => {
      for (const clusterId of clusterIds)
        if (this.#compiling.get(clusterId) === compiled) this.#compiling.delete(clusterId);
    });
  }

  /** A lease ended that the log knows nothing of. */
  #lapse(clusterId: string): void {
    this.#clusters.takeOut(clusterId, "expired");
    void this.#parts.serving.compile();
  }

  async #applyCluster(entry: ClusterEntry): Promise<void> {
    const { clusterId, position, id, meta, founding } = entry;
    const { precedence, clock, serving } = this.#parts;
    if (founding !== undefined) precedence.found(founding);
    if (position <= this.#clusters.positionOf(clusterId)) return;
    if (meta === undefined) {
      this.#applyEnd(entry);
      return;
    }
    try {
      if (await this.#applyChange(entry)) {
        const { expiresAt } = received(meta, 0, clock);
        this.known.set(clusterId, { id, position, isHeld: true, endsAt: expiresAt });
      } else await this.#reread(clusterId);
      serving.backlog.takenElsewhere(clusterId, meta.renewedAt);
    } catch (error) {
      if (isDiskFailure(error)) throw error;
      // What is held stays, and its worker pushes in full.
      this.#parts.onEvent({ event: "log-damaged", clusterId, error });
      this.known.lose(clusterId, { id, position });
    }
  }

  #applyEnd({ clusterId, position, id, kind, generation = 0 }: ClusterEntry): void {
    const left = kind === "left" ? generation : undefined;
    // Another gateway may say again what it knew before the engine lost something: the cluster may have come back since.
    if (left !== undefined && this.#clusters.holdsNewer(clusterId, left)) {
      this.known.lose(clusterId, { id, position });
      return;
    }
    this.#clusters.takeOut(clusterId, left === undefined ? "expired" : "left", left);
    this.known.set(clusterId, { id, position, isHeld: false, endsAt: Number.POSITIVE_INFINITY, left });
  }

  /** @returns false where the cluster's state has to be read instead */
  async #applyChange({ clusterId, position, id, kind, meta, lines, sight }: ClusterEntry): Promise<boolean> {
    const { serving, turns, clock, precedence } = this.#parts;
    const known = this.known.get(clusterId);
    const held = known?.isHeld === true ? serving.clusters.live.get(clusterId) : undefined;
    const after = received(meta!, 0, clock);
    if (kind === "lease") {
      if (held?.meta.generation !== after.generation) return false;
      this.#clusters.setMeta(held, after);
      serving.renew();
      serving.reconsider(clusterId, precedence.take(clusterId, sight));
      return true;
    }
    const own = this.#own.get(clusterId);
    // What was measured is right where it was measured on what is held now.
    if (own !== undefined && id === `${position}-${own.mark}` && own.base === known) {
      await this.#clusters.take(own.cluster, own.measured, after, () =>
        precedence.take(clusterId, own.sight),
      );
      return true;
    }
    if (lines === undefined || held === undefined) return false;
    const delta = await turns.run(changesOf(lines, held.state));
    const measured = await turns.run(held.measure(delta));
    await this.#clusters.take(held, measured, after, () => precedence.take(clusterId, sight));
    return true;
  }

  /** Reads what the log has of a cluster now. @throws {StoreError} where it cannot be read */
  async #reread(clusterId: string): Promise<void> {
    const shared = await this.#parts.log.stateOf(clusterId);
    if (shared !== undefined) await this.#clusters.takeState(shared);
  }

  async #reloadOne(shared: SharedCluster, isLost: boolean): Promise<void> {
    const { clusterId, id, position, meta, gone } = shared;
    const held = this.#parts.serving.clusters.live.get(clusterId);
    const before = this.known.get(clusterId);
    const generationBefore = held?.meta.generation;
    const newest = meta?.generation ?? leftOf(gone) ?? 0;
    if (isLost && generationBefore !== undefined && generationBefore > newest) {
      this.known.lose(clusterId, { id, position });
      return;
    }
    if (before?.id === id && before.isHeld === (meta !== undefined)) {
      this.known.set(clusterId, { ...before, position });
      return;
    }
    try {
      await this.#clusters.takeState(shared);
      if (meta !== undefined) this.#parts.serving.backlog.takenElsewhere(clusterId, meta.renewedAt);
      // What replaced a lost state may have its generation: no delta on the lost one is taken for one on this.
      const taken = this.known.get(clusterId);
      if (isLost && generationBefore === newest && taken !== undefined)
        this.known.set(clusterId, { ...taken, isHeld: false });
    } catch (error) {
      if (isDiskFailure(error)) throw error;
      this.#parts.onEvent({ event: "log-damaged", clusterId, error });
      const { id, position } = shared;
      this.known.lose(clusterId, { id, position });
    }
  }
}
