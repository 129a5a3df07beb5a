import { drain } from "../../snapshot/drain.ts";
import type { SnapshotDelta } from "../../snapshot/entry-changes.ts";
import type { ClusterMeta, StoreChange } from "../../store/store.ts";
import { unixTime } from "../clock.ts";
import type { Acknowledgement } from "../gateway-types.ts";
import type { StoreHealth } from "../keeping/store-health.ts";
import type { HeldCluster, MeasuredChange } from "../leases/held-cluster.ts";
import { reportChange } from "../leases/lease-terms.ts";
import type { ServedGeneration } from "../stages.ts";
import { inverseOf } from "./inverse-change.ts";
import type { PushParts } from "./push-parts.ts";

/** A change that is valid and within the limits. */
export interface CheckedChange {
  readonly cluster: HeldCluster;
  readonly measured: MeasuredChange;
  /** The cluster's after it. */
  readonly meta: ClusterMeta;
  /** Whether the cluster's lease ran until now. */
  readonly live: boolean;
}

/** A change that is stored. */
export interface TakenChange {
  readonly acknowledgement: Acknowledgement;
  /** Resolves when the change is in the answers; undefined if nobody has requested a compilation with it yet. */
  readonly compiled?: Promise<void>;
}

type Stored = Exclude<StoreChange, { kind: "lease" }>;

/** Stores changes and has them served. Changes of one cluster must not overlap. */
export class KeptChanges<Generation extends ServedGeneration> {
  readonly #parts: PushParts<Generation>;
  readonly #health: StoreHealth;

  constructor(parts: PushParts<Generation>, health: StoreHealth) {
    this.#parts = parts;
    this.#health = health;
  }

  /** Stores a change, then has it served. @throws {Error} what the store fails with; then nothing has changed */
  async take(checked: CheckedChange, stored: Stored): Promise<TakenChange> {
    const { cluster, measured, meta } = checked;
    const { clusterId } = cluster;
    const { change } = measured;
    const { serving, clock, turns } = this.#parts;
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
    this.setMeta(cluster, meta);
    serving.set(cluster, change, ranked);
    const acknowledgement = cluster.acknowledgement(clock);
    await this.#pushed(checked, stored);
    return { acknowledgement };
  }

  /**
   * Stores a change, and has it served meanwhile if it can be taken back: on a busy disk `fdatasync` takes as long as all the rest. The promise settles
   * when the disk has answered.
   * @param delta the change
   * @throws {Error} what the store fails with; then what was served before is served again
   */
  async takeSmall(checked: CheckedChange, delta: SnapshotDelta, stored: Stored): Promise<TakenChange> {
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

  /** Takes over a cluster's lease and its worker's report. */
  setMeta(cluster: HeldCluster, meta: ClusterMeta): void {
    const { meta: before, clusterId } = cluster;
    cluster.meta = meta;
    this.#report(clusterId, before, meta);
  }

  #store(clusterId: string, stored: Stored): Promise<void> {
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

  async #pushed({ cluster: { clusterId }, meta }: CheckedChange, { kind }: Stored): Promise<void> {
    const { precedence, onEvent } = this.#parts;
    onEvent({ event: "pushed", clusterId, generation: meta.generation, kind });
    await precedence.save(clusterId);
  }

  #report(clusterId: string, before: ClusterMeta, after: ClusterMeta): void {
    const event = reportChange(clusterId, before, after);
    if (event !== undefined) this.#parts.onEvent(event);
  }
}
