import type { SharedCluster } from "../../store/shared/shared-log.ts";
import { unixTime } from "../clock.ts";
import { HeldCluster, type MeasuredChange } from "../leases/held-cluster.ts";
import { reportChange } from "../leases/lease-terms.ts";
import { received, receivedGone } from "../leases/stored-lease.ts";
import type { PushParts } from "../pushing/push-parts.ts";
import type { ServedGeneration } from "../stages.ts";
import { type KnownClusters, leftOf } from "./known-clusters.ts";
import { stageAll } from "./staged-lines.ts";

/** Brings what this gateway holds and serves of clusters to what a log has of them. */
export class FollowedClusters<Generation extends ServedGeneration> {
  readonly #parts: PushParts<Generation>;
  readonly #known: KnownClusters;

  constructor(parts: PushParts<Generation>, known: KnownClusters) {
    this.#parts = parts;
    this.#known = known;
  }

  positionOf(clusterId: string): number {
    return this.#known.get(clusterId)?.position ?? 0;
  }

  /** Takes a cluster out that is live no more. @param left the newest generation that left */
  takeOut(clusterId: string, why: "left" | "expired", left?: number): void {
    const { serving, precedence, onEvent, clock } = this.#parts;
    precedence.part(clusterId);
    if (why === "left") serving.leave(clusterId, left);
    else {
      const lapsed = serving.lapse(clusterId);
      if (lapsed !== undefined)
        onEvent({ event: "lease-expired", clusterId, expiredAt: unixTime(clock, lapsed.meta.expiresAt) });
    }
  }

  /** Whether something is held of a cluster that the engine lost, and that is newer than what it has. */
  holdsNewer(clusterId: string, generation: number): boolean {
    const held = this.#parts.serving.clusters.live.get(clusterId);
    return (
      held !== undefined && this.#known.get(clusterId)?.isHeld !== true && held.meta.generation > generation
    );
  }

  /** @throws {SnapshotError} for a state that is not valid */
  async takeState(shared: SharedCluster): Promise<void> {
    const { serving, turns, clock, precedence } = this.#parts;
    const { clusterId } = shared;
    const cluster = serving.clusters.live.get(clusterId) ?? HeldCluster.empty(clusterId);
    const stage = await stageAll(shared.lines, cluster.state, turns);
    const { id, position, meta, gone, elapsed, sight } = shared;
    if (meta === undefined) {
      precedence.restore(clusterId, sight);
      const left = leftOf(gone);
      this.takeOut(clusterId, gone?.why ?? "left", left);
      if (gone !== undefined) serving.recall(clusterId, receivedGone(gone, elapsed, clock));
      this.#known.set(clusterId, { id, position, isHeld: false, endsAt: Number.POSITIVE_INFINITY, left });
      return;
    }
    const measured = await turns.run(cluster.measure(await turns.run(stage.finish(cluster.state))));
    const after = received(meta, elapsed, clock);
    await this.take(cluster, measured, after, () => precedence.restore(clusterId, sight));
    this.#known.set(clusterId, { id, position, isHeld: true, endsAt: after.expiresAt });
  }

  /** @param rank takes over the ranks, and says whose changed */
  async take(
    cluster: HeldCluster,
    measured: MeasuredChange,
    meta: HeldCluster["meta"],
    rank: () => string[],
  ): Promise<void> {
    const { serving, turns } = this.#parts;
    await turns.run(cluster.apply(measured));
    // Rank and entries are taken over in one step, so that nothing is compiled with one of them alone.
    this.setMeta(cluster, meta);
    serving.set(cluster, measured.change, rank());
  }

  setMeta(cluster: HeldCluster, meta: HeldCluster["meta"]): void {
    const event = reportChange(cluster.clusterId, cluster.meta, meta);
    cluster.meta = meta;
    if (event !== undefined) this.#parts.onEvent(event);
  }
}
