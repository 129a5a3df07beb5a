import type { AdjustedTime } from "../../merge/service/declaration.ts";
import type { HeldDelta } from "../../snapshot/entry-changes.ts";
import type { RememberedStore } from "../../store/remembered/remembered-store.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { Turns } from "../turns.ts";
import { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT, judge } from "./judge.ts";
import { isJudged, keysToJudge, type ServedCluster } from "./judged-keys.ts";
import type { RankedClusters } from "./ranked-clusters.ts";
import { complete, type Kept, type ResumedCluster, readRecords } from "./recover.ts";
import { isSameTime, SeenCluster } from "./seen-cluster.ts";
import { Sights } from "./sights.ts";

export { FOUNDING } from "./founding.ts";
export { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT } from "./judge.ts";

/** What precedence is opened with: a store, and what was loaded from it and from that of the snapshots. */
export interface PrecedenceParts extends Kept {
  readonly store: RememberedStore;
  /** What records are written in. */
  readonly turns: Pick<Turns, "run">;
  readonly onEvent: OnGatewayEvent;
}

/** How a cluster is seen. */
export interface SeenAt {
  /** Unix milliseconds by the wall clock, which may be set to any time. */
  readonly now: number;
  /** Whether its lease ran until now. */
  readonly live: boolean;
  /** Of the push that is seen. */
  readonly generation: number;
}

/**
 * Ranks the exports of one service: who was there first keeps it (SECURITY.md, Creation times). A reported creation time counts where the gateway
 * could have seen the export appear; otherwise the export counts from when it was first seen and served. It keeps its rank while its
 * cluster is away, and loses it as soon as the cluster is seen without it.
 */
export class Precedence implements RankedClusters {
  readonly #sights: Sights;

  private constructor(sights: Sights) {
    this.#sights = sights;
  }

  /** Takes over what is remembered. A cluster of which nothing is remembered counts as there from the beginning if it is answered. */
  static async open(parts: PrecedenceParts): Promise<Precedence> {
    const sights = new Sights(parts.store, parts.turns, parts.onEvent);
    const precedence = new Precedence(sights);
    readRecords(sights, parts);
    const byPush = [...parts.stored].sort((one, other) => one.meta.pushedAt - other.meta.pushedAt);
    for (const cluster of byPush) precedence.#resume(cluster);
    await sights.keepAll();
    return precedence;
  }

  /** Remembers that a cluster exists before its first push is taken: a cluster without a record has lost it. */
  async introduce(clusterId: string, now: number): Promise<void> {
    const seenAt = this.#sights.instant(now);
    if (this.#sights.get(clusterId) !== undefined || seenAt < FIRST_SERVICE_EXPORT) return;
    this.#sights.set(clusterId, SeenCluster.unseen(0, seenAt));
    await this.save(clusterId);
  }

  /**
   * Takes over what a cluster serves from now on, in steps. `save` keeps it.
   * @param change what changed since the cluster was last seen
   * @returns the services whose rank changed
   */
  *see(
    { clusterId, state }: ServedCluster,
    { now, live, generation }: SeenAt,
    change: HeldDelta | "everything",
  ): Generator<void, string[]> {
    const sights = this.#sights;
    const known = sights.get(clusterId);
    const instant = sights.instant(now);
    const looked = known?.isCurrent === true && change !== "everything" ? change : undefined;
    // The clock of a new gateway that was not set yet: nothing can be judged by it.
    if (instant < FIRST_SERVICE_EXPORT) {
      if (known !== undefined) known.isCurrent = false;
      return [];
    }
    sights.pass(now);
    sights.reach(now);
    if (known !== undefined && looked?.entries.some(isJudged) === false) {
      known.seenAt = now;
      return [];
    }
    sights.reach(instant);
    const notBefore = this.#notBefore(live ? known : undefined, instant);
    const { isOn, at: foundedAt = instant } = sights.founding;
    const seen = known ?? SeenCluster.unseen(generation, now);
    const changed = new Set<string>();
    for (const { table, key, isServed } of keysToJudge(state, seen, looked)) {
      if (table === "exports") {
        const before = seen.exports.get(key);
        const reported = isServed ? state.entry("exports", key)!.exportedAt : undefined;
        const isSame =
          before?.reported === reported || (before && reported && isSameTime(before.reported, reported));
        if (!isSame) {
          const counts = reported === undefined ? 0 : judge(reported, { instant, notBefore });
          seen.setExport(key, reported === undefined ? undefined : { reported, counts });
          changed.add(key);
        }
      } else if (isServed !== seen.imports.has(key)) {
        seen.setImport(key, isServed ? (isOn ? foundedAt : instant) : undefined);
        changed.add(key);
      }
      yield;
    }
    seen.seenAt = now;
    seen.isCurrent = true;
    if (known === undefined || changed.size > 0) {
      seen.generation = generation;
      sights.set(clusterId, seen);
    }
    return [...changed];
  }

  /** Keeps what changed of a cluster. What cannot be kept is reported, and kept with the next change. */
  save(clusterId: string): Promise<void> {
    return this.#sights.keep(clusterId);
  }

  /** Keeps when a cluster that leaves the answers was last seen, which its snapshot does not tell any more. */
  async parted(clusterId: string): Promise<void> {
    const known = this.#sights.get(clusterId);
    if (known === undefined) return;
    known.isCurrent = false;
    this.#sights.set(clusterId, known);
    await this.save(clusterId);
  }

  adjusted(clusterId: string): ReadonlyMap<string, AdjustedTime> | undefined {
    return this.#sights.get(clusterId)?.adjusted;
  }

  rankedSince(clusterId: string): number {
    return this.#sights.get(clusterId)?.generation ?? 0;
  }

  isLost(clusterId: string): boolean {
    return this.#sights.get(clusterId)?.isLost === true;
  }

  importedSince(clusterId: string): ReadonlyMap<string, number> | undefined {
    return this.#sights.get(clusterId)?.imports;
  }

  /** Before that no export can have been created that appears now. @param known the cluster, if its lease ran since it was last seen */
  #notBefore(known: SeenCluster | undefined, instant: number): number {
    if (this.#sights.founding.isOn) return Number.NEGATIVE_INFINITY;
    return known === undefined ? instant : Math.max(known.seenAt, instant - CLOCK_TOLERANCE);
  }

  /** Goes on with a stored cluster. */
  #resume(cluster: ResumedCluster): void {
    const { clusterId } = cluster;
    const { generation, pushedAt, renewedAt } = cluster.meta;
    const known = this.#sights.get(clusterId);
    // The process died between the snapshot and the record.
    if (known !== undefined && generation > known.generation)
      this.#seeAtOnce(cluster, { now: Math.max(pushedAt, known.seenAt), live: false, generation });
    else complete(this.#sights, cluster);
    const seen = this.#sights.get(clusterId);
    if (seen !== undefined) seen.seenAt = Math.max(seen.seenAt, renewedAt);
  }

  #seeAtOnce(cluster: ServedCluster, at: SeenAt): void {
    for (const _ of this.see(cluster, at, "everything"));
  }
}
