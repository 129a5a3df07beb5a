import { drain } from "../../snapshot/drain.ts";
import type { SnapshotDelta } from "../../snapshot/entry-changes.ts";
import type { ClusterMeta } from "../../store/store.ts";
import { isDiskFailure } from "../../store/store-error.ts";
import { unixTime } from "../clock.ts";
import { GenerationMismatch, type Sender } from "../gateway-types.ts";
import type { KeyedQueue } from "../keeping/keyed-queue.ts";
import { StoreHealth, type StoreTrouble } from "../keeping/store-health.ts";
import type { HeldCluster, MeasuredChange } from "../leases/held-cluster.ts";
import { reportChange } from "../leases/lease-terms.ts";
import { toStored } from "../leases/stored-lease.ts";
import type { ServedGeneration } from "../stages.ts";
import type { ChangeKeeper, CheckedChange, KeptChange, TakenChange } from "./change-keeper.ts";
import { Departures } from "./departures.ts";
import { inverseOf } from "./inverse-change.ts";
import type { KeptParts } from "./push-parts.ts";

const NO_CHANGE: SnapshotDelta = { entries: [], singles: {} };

/** Keeps changes in a store of this gateway. */
export class KeptChanges<Generation extends ServedGeneration> implements ChangeKeeper {
  readonly #parts: KeptParts<Generation>;
  readonly #health: StoreHealth;
  readonly #departures: Departures<Generation>;

  /** @param queue of pushes, by cluster id */
  constructor(parts: KeptParts<Generation>, queue: KeyedQueue) {
    this.#parts = parts;
    const { clock, onEvent, serving } = parts;
    const isLive = (clusterId: string) => serving.clusters.live.has(clusterId);
    this.#health = new StoreHealth(clock, onEvent, (id) => isLive(id) || this.#departures.owes(id));
    this.#departures = new Departures(parts, queue, this.#health);
  }

  get trouble(): StoreTrouble | undefined {
    return this.#health.trouble;
  }

  baseOf(): undefined {
    return undefined;
  }

  run<Result>(_clusterId: string, task: () => Promise<Result>): Promise<Result> {
    return task();
  }

  async take(checked: CheckedChange, stored: KeptChange): Promise<TakenChange> {
    const { cluster, measured, meta } = checked;
    const { clusterId } = cluster;
    const { change } = measured;
    const { serving, precedence, clock, turns } = this.#parts;
    if (stored.kind === "snapshot") await precedence.introduce(clusterId, stored.meta.pushedAt);
    await turns.run(serving.retain(clusterId, change));
    try {
      await this.#store(clusterId, stored);
    } catch (error) {
      serving.release(clusterId, change);
      throw error;
    }
    await turns.run(cluster.apply(measured));
    const ranked = await this.#see(checked);
    // Rank and entries are taken over in one step, so that nothing is compiled with one of them alone.
    this.#setMeta(cluster, meta);
    serving.set(cluster, change, ranked);
    const acknowledgement = cluster.acknowledgement(clock);
    await this.#pushed(checked, stored);
    return { acknowledgement };
  }

  /**
   * Stores a change, and has it served meanwhile if it can be taken back: on a busy disk `fdatasync` takes as long as all the rest. The promise settles
   * when the disk has answered.
   * @throws {Error} what the store fails with; then what was served before is served again
   */
  async takeSmall(checked: CheckedChange, delta: SnapshotDelta, stored: KeptChange): Promise<TakenChange> {
    const { cluster, measured, meta } = checked;
    const { clusterId } = cluster;
    const { serving, clock } = this.#parts;
    const inverse = this.#health.isHealthy ? inverseOf(cluster, delta) : undefined;
    if (inverse === undefined) return this.take(checked, stored);
    const before = cluster.meta;
    const storing = this.#store(clusterId, stored);
    this.#serve(cluster, measured, meta);
    const compiled = serving.compile();
    try {
      await storing;
    } catch (error) {
      // Unless its lease expired meanwhile, which leaves nothing to take back.
      if (serving.clusters.live.get(clusterId) === cluster) {
        this.#serve(cluster, inverse, before);
        void serving.compile();
      }
      throw error;
    }
    const ranked = await this.#see(checked);
    serving.reconsider(clusterId, ranked);
    this.#report(clusterId, before, meta);
    const acknowledgement = cluster.acknowledgement(clock);
    await this.#pushed(checked, stored);
    return ranked.length === 0 ? { acknowledgement, compiled } : { acknowledgement };
  }

  async renew(held: HeldCluster, meta: ClusterMeta): Promise<void> {
    const { store, serving, precedence, clock, turns } = this.#parts;
    const { clusterId } = held;
    await this.#health.attempt(clusterId, () =>
      store.keep(clusterId, { kind: "lease", meta: toStored(meta, clock) }),
    );
    // Its lease may have run out while the renewal was being kept.
    if (serving.clusters.live.get(clusterId) !== held) throw new GenerationMismatch(undefined);
    this.#setMeta(held, meta);
    serving.renew();
    const seen = { now: unixTime(clock, meta.renewedAt), live: true, generation: meta.generation };
    serving.reconsider(clusterId, await turns.run(precedence.see(held, seen, NO_CHANGE)));
    await precedence.save(clusterId);
  }

  leave(clusterId: string, sender: Sender): Promise<boolean> {
    return this.#departures.leave(clusterId, sender);
  }

  forget(expired: readonly HeldCluster[]): void {
    this.#departures.forget(expired);
  }

  /** What is held of a cluster whose change the disk refused goes on being answered. */
  refused(clusterId: string, error: unknown, renewed: (held: HeldCluster) => ClusterMeta): void {
    const { serving } = this.#parts;
    const held = serving.clusters.live.get(clusterId);
    if (!isDiskFailure(error) || held === undefined) return;
    this.#setMeta(held, renewed(held));
    serving.renew();
  }

  close(): void {
    this.#departures.close();
  }

  /** Takes over a cluster's lease and its worker's report. */
  #setMeta(cluster: HeldCluster, meta: ClusterMeta): void {
    const { meta: before, clusterId } = cluster;
    cluster.meta = meta;
    this.#report(clusterId, before, meta);
  }

  #store(clusterId: string, stored: KeptChange): Promise<void> {
    return this.#health.must(clusterId, () => this.#parts.store.keep(clusterId, stored));
  }

  /** Takes over a change whose cluster keeps its rank, in one step. */
  #serve(cluster: HeldCluster, measured: MeasuredChange, meta: ClusterMeta): void {
    drain(cluster.apply(measured));
    cluster.meta = meta;
    this.#parts.serving.set(cluster, measured.change, []);
  }

  #see({ cluster, measured, meta, live }: CheckedChange): Promise<string[]> {
    const { precedence, clock, turns } = this.#parts;
    const seen = { now: unixTime(clock, meta.pushedAt), live, generation: meta.generation };
    return turns.run(precedence.see(cluster, seen, live ? measured.change : "everything"));
  }

  async #pushed({ cluster: { clusterId }, meta }: CheckedChange, { kind }: KeptChange): Promise<void> {
    const { precedence, onEvent } = this.#parts;
    onEvent({ event: "pushed", clusterId, generation: meta.generation, kind });
    await precedence.save(clusterId);
  }

  #report(clusterId: string, before: ClusterMeta, after: ClusterMeta): void {
    const event = reportChange(clusterId, before, after);
    if (event !== undefined) this.#parts.onEvent(event);
  }
}
