import type { SnapshotDelta } from "../../snapshot/entry-changes.ts";
import { BaseChanged, type LogDraft } from "../../store/shared/shared-log.ts";
import type { ClusterMeta } from "../../store/store.ts";
import { isDiskFailure, StoreError } from "../../store/store-error.ts";
import { unixTime } from "../clock.ts";
import { GenerationMismatch, refuseLate, type Sender } from "../gateway-types.ts";
import type { StoreTrouble } from "../keeping/store-health.ts";
import type { HeldCluster } from "../leases/held-cluster.ts";
import { refuseOtherInstance } from "../leases/other-instance.ts";
import { toStored } from "../leases/stored-lease.ts";
import type { Base, ChangeKeeper, CheckedChange, KeptChange, TakenChange } from "../pushing/change-keeper.ts";
import type { ServedGeneration } from "../stages.ts";
import { changedState } from "./changed-state.ts";
import type { OwnChange, Replica, ReplicaParts } from "./replica.ts";

const NO_CHANGE: SnapshotDelta = { entries: [], singles: {} };
/** How often a change is decided again where other gateways changed its cluster meanwhile. */
const MOST_TRIES = 5;
/** Milliseconds until it is decided again, at most. */
const PAUSE = 100;

/** Adds changes to a log that several gateways share. They count when this gateway has applied the log up to them. */
export class LoggedChanges<Generation extends ServedGeneration> implements ChangeKeeper {
  readonly #parts: ReplicaParts<Generation>;
  readonly #replica: Replica<Generation>;
  /** What marks of this gateway's drafts begin with, and their number. */
  readonly #name = crypto.randomUUID().slice(-12);
  #drafts = 0;
  /** Why the log took no change, the last time that one was to be added. */
  #refused: StoreTrouble | undefined;

  constructor(parts: ReplicaParts<Generation>, replica: Replica<Generation>) {
    this.#parts = parts;
    this.#replica = replica;
    replica.onConnected = () => this.#added();
  }

  get trouble(): StoreTrouble | undefined {
    return this.#replica.trouble ?? this.#refused;
  }

  baseOf(clusterId: string, isDelta: boolean): Base {
    return this.#replica.baseOf(clusterId, isDelta);
  }

  async run<Result>(clusterId: string, task: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++)
      try {
        return await task();
      } catch (error) {
        if (error instanceof StoreError && error.code === "NO_SNAPSHOT")
          throw new GenerationMismatch(undefined);
        if (!(error instanceof BaseChanged)) throw error;
        if (tries === MOST_TRIES)
          throw new GenerationMismatch(this.#parts.serving.clusters.generationOf(clusterId));
        await this.#replica.positions.pause(PAUSE);
      }
  }

  async take(checked: CheckedChange, change: KeptChange): Promise<TakenChange> {
    const { cluster, measured, meta, live, base } = checked;
    const { clusterId } = cluster;
    const { precedence, clock, turns, onEvent } = this.#parts;
    const state = changedState(cluster.state, measured.change);
    const seenAt = { now: unixTime(clock, meta.pushedAt), live, generation: meta.generation };
    const judged = precedence.judge({ clusterId, state }, seenAt, live ? measured.change : "everything");
    const changed = await turns.run(judged);
    // The log may have other ranks of a cluster that it lost.
    const sight = changed && !base?.isHeld ? precedence.whole(clusterId, changed) : changed;
    const draft = { clusterId, base: base?.id, change, sight, founding: precedence.founding };
    await this.#add(draft, { cluster, measured, sight, base });
    onEvent({ event: "pushed", clusterId, generation: meta.generation, kind: change.kind });
    // What is held may be newer by now, or another object: a reload took it over.
    const { generation, expiresAt } = meta;
    return { acknowledgement: { clusterId, generation, expiresAt: unixTime(clock, expiresAt) } };
  }

  takeSmall(checked: CheckedChange, _delta: SnapshotDelta, change: KeptChange): Promise<TakenChange> {
    return this.take(checked, change);
  }

  async renew(held: HeldCluster, meta: ClusterMeta, base: Base): Promise<void> {
    const { serving, precedence, clock, turns } = this.#parts;
    const { clusterId } = held;
    const seenAt = { now: unixTime(clock, meta.renewedAt), live: true, generation: meta.generation };
    const sight = await turns.run(precedence.judge(held, seenAt, NO_CHANGE));
    const change = { kind: "lease", meta: toStored(meta, clock) } as const;
    await this.#add({ clusterId, base: base?.id, change, sight, founding: precedence.founding });
    if (serving.clusters.live.get(clusterId)?.meta.generation !== meta.generation)
      throw new GenerationMismatch(undefined);
    // Another gateway may have taken the push: this one answers from what is renewed, too.
    await this.#replica.answered(clusterId);
  }

  /** Also of a cluster that is not known here: another gateway may hold it, or the engine may have lost that it left. */
  async leave(clusterId: string, sender: Sender): Promise<boolean> {
    const { serving, onEvent, clock } = this.#parts;
    const isKnown = serving.clusters.has(clusterId);
    await this.run(clusterId, () => {
      const base = this.#replica.baseOf(clusterId, false);
      const held = serving.clusters.live.get(clusterId);
      refuseOtherInstance(held, sender.instance, this.#parts);
      refuseLate(sender, { generation: held?.meta.generation });
      const generation = Math.max(serving.clusters.generationOf(clusterId) + 1, unixTime(clock, clock.now()));
      return this.#add({ clusterId, base: base?.id, change: { kind: "left", generation } });
    });
    if (isKnown) onEvent({ event: "left", clusterId });
    await serving.compile();
    return isKnown;
  }

  /** Their leases ended long ago while the log could not be written: what it has of them ends as soon as it can. */
  forget(expired: readonly HeldCluster[]): void {
    const { onEvent, precedence, clock } = this.#parts;
    for (const { clusterId, meta } of expired) {
      precedence.part(clusterId);
      onEvent({ event: "lease-expired", clusterId, expiredAt: unixTime(clock, meta.expiresAt) });
    }
  }

  /** What is held goes on being answered until its lease ends; and while the log is gone, for a time after that. */
  refused(): void {}

  close(): void {
    this.#replica.close();
  }

  /** Adds a change, and waits until it is applied. @throws {StoreError} STORE_FAILED also where the engine lost it meanwhile: other gateways may have applied it before */
  async #add(draft: LogDraft, own?: Omit<OwnChange, "mark">): Promise<void> {
    const { clusterId, change } = draft;
    const { positions } = this.#replica;
    const { resets } = positions;
    const mark = `${this.#name}${(this.#drafts++).toString(36)}`;
    if (own !== undefined) this.#replica.expect(clusterId, { ...own, mark });
    let isApplied: boolean;
    try {
      const { position, id } = await this.#parts.log.append({ ...draft, mark });
      this.#added();
      isApplied = await this.#replica.applied(clusterId, { position, id, resets }, change.kind !== "left");
    } catch (error) {
      this.#failed(clusterId, error);
      throw error;
    } finally {
      if (own !== undefined) this.#replica.forget(clusterId);
    }
    if (!isApplied)
      throw new StoreError("STORE_FAILED", "Valkey or Redis lost the change before this gateway applied it");
  }

  #failed(clusterId: string, error: unknown): void {
    if (!isDiskFailure(error) || this.#refused !== undefined) return;
    const { clock, onEvent } = this.#parts;
    this.#refused = { reason: error.message, since: unixTime(clock, clock.now()) };
    onEvent({ event: "store-failed", clusterId, error });
  }

  #added(): void {
    if (this.#refused === undefined) return;
    this.#refused = undefined;
    this.#parts.onEvent({ event: "store-works-again" });
  }
}
