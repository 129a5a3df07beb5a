import type { HeldDelta } from "../../snapshot/entry-changes.ts";
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
import { HeldCluster, type MeasuredChange } from "../leases/held-cluster.ts";
import { reportChange } from "../leases/lease-terms.ts";
import { received } from "../leases/stored-lease.ts";
import type { Base } from "../pushing/change-keeper.ts";
import type { PushParts } from "../pushing/push-parts.ts";
import type { ServedGeneration } from "../stages.ts";
import type { DecidedOrders } from "./decided-orders.ts";
import type { KnownClusters } from "./known-clusters.ts";
import { LeaseEnds } from "./lease-ends.ts";
import { Positions } from "./positions.ts";
import { changesOf, stageAll } from "./staged-lines.ts";

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
  /** Resolves with the entry's id; undefined if the change was not added, or may not have been. */
  readonly added: Promise<string | undefined>;
}

/** Applies the entries of a log, in their order, so that this gateway holds what all others hold. */
export class Replica<Generation extends ServedGeneration> implements LogFollower {
  readonly known: KnownClusters;
  readonly positions: Positions;
  /** Called when the log can be read again. */
  onConnected: () => void = () => {};
  readonly #parts: ReplicaParts<Generation>;
  readonly #ends: LeaseEnds;
  readonly #own = new Map<string, OwnChange>();
  #trouble: StoreTrouble | undefined;
  #disconnectedAt: number | undefined;

  constructor(parts: ReplicaParts<Generation>, known: KnownClusters, position: number) {
    this.#parts = parts;
    this.known = known;
    const { log, clock, onEvent } = parts;
    this.positions = new Positions(clock, position);
    this.#ends = new LeaseEnds(log, known, clock, onEvent, (clusterId) => this.#lapse(clusterId));
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

  async apply(entry: LogEntry): Promise<void> {
    const { reverse, serving } = this.#parts;
    if (entry.kind === "orders") serving.adopt(reverse.adopt(entry.orders));
    else await this.#applyCluster(entry);
    this.positions.reach(entry.position);
    void serving.compile();
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
    for await (const shared of clusters) {
      seen.add(shared.clusterId);
      await this.#reloadOne(shared, isLost);
    }
    for (const clusterId of [...this.known.ids(), ...serving.clusters.live.keys()])
      if (!seen.has(clusterId)) {
        if (!isLost) this.#takeOut(clusterId, "left");
        this.known.lose(clusterId, undefined);
      }
    serving.adopt(reverse.replace(orders));
    this.positions.reset(position);
    void serving.compile();
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
    this.#parts.reverse.close();
    this.positions.close();
  }

  /** Takes a cluster out that is live no more. */
  #takeOut(clusterId: string, why: "left" | "expired"): void {
    const { serving, precedence, onEvent, clock } = this.#parts;
    precedence.part(clusterId);
    if (why === "left") serving.leave(clusterId);
    else {
      const lapsed = serving.lapse(clusterId);
      if (lapsed !== undefined)
        onEvent({ event: "lease-expired", clusterId, expiredAt: unixTime(clock, lapsed.meta.expiresAt) });
    }
  }

  /** A lease ended that the log knows nothing of. */
  #lapse(clusterId: string): void {
    this.#takeOut(clusterId, "expired");
    void this.#parts.serving.compile();
  }

  async #applyCluster(entry: ClusterEntry): Promise<void> {
    const { clusterId, position, id, meta, founding, kind } = entry;
    const { precedence, clock } = this.#parts;
    if (founding !== undefined) precedence.found(founding);
    if (position <= (this.known.get(clusterId)?.position ?? 0)) return;
    if (meta === undefined) {
      this.#takeOut(clusterId, kind === "left" ? "left" : "expired");
      this.known.set(clusterId, { id, position, isHeld: false, endsAt: Number.POSITIVE_INFINITY });
      return;
    }
    try {
      if (await this.#applyChange(entry)) {
        const { expiresAt } = received(meta, 0, clock);
        this.known.set(clusterId, { id, position, isHeld: true, endsAt: expiresAt });
      } else await this.#reread(clusterId);
    } catch (error) {
      if (isDiskFailure(error)) throw error;
      // What is held stays, and its worker pushes in full.
      this.#parts.onEvent({ event: "log-damaged", clusterId, error });
      this.known.lose(clusterId, { id, position });
    }
  }

  /** @returns false where the cluster's state has to be read instead */
  async #applyChange({ clusterId, id, kind, meta, lines, sight }: ClusterEntry): Promise<boolean> {
    const { serving, turns, clock, precedence } = this.#parts;
    const known = this.known.get(clusterId);
    const held = known?.isHeld === true ? serving.clusters.live.get(clusterId) : undefined;
    const after = received(meta!, 0, clock);
    if (kind === "lease") {
      if (held?.meta.generation !== after.generation) return false;
      this.#setMeta(held, after);
      serving.renew();
      serving.reconsider(clusterId, precedence.take(clusterId, sight));
      return true;
    }
    const own = this.#own.get(clusterId);
    // What was measured is right where it was measured on what is held now.
    if (own !== undefined && (await own.added) === id && own.base === known) {
      await this.#take(own.cluster, own.measured, after, () => precedence.take(clusterId, own.sight));
      return true;
    }
    if (lines === undefined || held === undefined) return false;
    const delta = await turns.run(changesOf(lines, held.state));
    const measured = await turns.run(held.measure(delta));
    await this.#take(held, measured, after, () => precedence.take(clusterId, sight));
    return true;
  }

  /** Reads what the log has of a cluster now. @throws {StoreError} where it cannot be read */
  async #reread(clusterId: string): Promise<void> {
    const shared = await this.#parts.log.stateOf(clusterId);
    if (shared !== undefined) await this.#takeState(shared);
  }

  async #reloadOne(shared: SharedCluster, isLost: boolean): Promise<void> {
    const { clusterId, id, position, meta } = shared;
    const held = this.#parts.serving.clusters.live.get(clusterId);
    const before = this.known.get(clusterId);
    if (isLost && held !== undefined && held.meta.generation > (meta?.generation ?? 0)) {
      this.known.lose(clusterId, { id, position });
      return;
    }
    if (before?.id === id && before.isHeld === (meta !== undefined)) {
      this.known.set(clusterId, { ...before, position });
      return;
    }
    try {
      await this.#takeState(shared);
    } catch (error) {
      if (isDiskFailure(error)) throw error;
      this.#parts.onEvent({ event: "log-damaged", clusterId, error });
      const { id, position } = shared;
      this.known.lose(clusterId, { id, position });
    }
  }

  /** @throws {SnapshotError} for a state that is not valid */
  async #takeState(shared: SharedCluster): Promise<void> {
    const { serving, turns, clock, precedence } = this.#parts;
    const { clusterId } = shared;
    const cluster = serving.clusters.live.get(clusterId) ?? HeldCluster.empty(clusterId);
    const stage = await stageAll(shared.lines, cluster.state, turns);
    const { id, position, meta, gone, elapsed, sight } = shared;
    if (meta === undefined) {
      precedence.restore(clusterId, sight);
      this.#takeOut(clusterId, gone?.why ?? "left");
      if (gone !== undefined) serving.recall(clusterId, gone.why, received(gone.meta, elapsed, clock));
      this.known.set(clusterId, { id, position, isHeld: false, endsAt: Number.POSITIVE_INFINITY });
      return;
    }
    const measured = await turns.run(cluster.measure(await turns.run(stage.finish(cluster.state))));
    const after = received(meta, elapsed, clock);
    await this.#take(cluster, measured, after, () => precedence.restore(clusterId, sight));
    this.known.set(clusterId, { id, position, isHeld: true, endsAt: after.expiresAt });
  }

  /** @param rank takes over the ranks, and says whose changed */
  async #take(
    cluster: HeldCluster,
    measured: MeasuredChange,
    meta: HeldCluster["meta"],
    rank: () => string[],
  ): Promise<void> {
    const { serving, turns } = this.#parts;
    const { change }: { change: HeldDelta } = measured;
    await turns.run(cluster.apply(measured));
    // Rank and entries are taken over in one step, so that nothing is compiled with one of them alone.
    this.#setMeta(cluster, meta);
    serving.set(cluster, change, rank());
  }

  #setMeta(cluster: HeldCluster, meta: HeldCluster["meta"]): void {
    const event = reportChange(cluster.clusterId, cluster.meta, meta);
    cluster.meta = meta;
    if (event !== undefined) this.#parts.onEvent(event);
  }
}
