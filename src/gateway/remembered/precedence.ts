import type { AdjustedTime } from "../../merge/service/declaration.ts";
import type { HeldDelta } from "../../snapshot/entry-changes.ts";
import { sharedText } from "../../snapshot/held/shared-text.ts";
import type { RememberedStore } from "../../store/remembered/remembered-store.ts";
import type { FoundingDay, Sight } from "../../store/shared/shared-log.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { Turns } from "../turns.ts";
import { Founding } from "./founding.ts";
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
  *see(cluster: ServedCluster, at: SeenAt, change: HeldDelta | "everything"): Generator<void, string[]> {
    return this.take(cluster.clusterId, yield* this.judge(cluster, at, change));
  }

  /**
   * Judges what a cluster is going to serve, in steps. Nothing counts before `take`.
   * @param cluster with its state after the change
   * @param change what changed since the cluster was last seen
   * @returns undefined while nothing can be judged: the clock of a new gateway is not set yet
   */
  *judge(
    { clusterId, state }: ServedCluster,
    { now, live, generation }: SeenAt,
    change: HeldDelta | "everything",
  ): Generator<void, Sight | undefined> {
    const sights = this.#sights;
    const known = sights.get(clusterId);
    const instant = sights.instant(now);
    const looked = known?.isCurrent === true && change !== "everything" ? change : undefined;
    if (instant < FIRST_SERVICE_EXPORT) return undefined;
    sights.pass(now);
    sights.reach(now);
    const exports: Record<string, Sight["exports"][string]> = {};
    const imports: Record<string, number | null> = {};
    if (known !== undefined && looked?.entries.some(isJudged) === false)
      return { seenAt: now, generation: known.generation, exports, imports };
    sights.reach(instant);
    const notBefore = this.#notBefore(live ? known : undefined, instant);
    const { isOn, at: foundedAt = instant } = sights.founding;
    const seen = known ?? SeenCluster.unseen(generation, now);
    let hasChanged = known === undefined;
    for (const { table, key, isServed } of keysToJudge(state, seen, looked)) {
      if (table === "exports") {
        const before = seen.exports.get(key);
        const reported = isServed ? state.entry("exports", key)!.exportedAt : undefined;
        const isSame =
          before?.reported === reported || (before && reported && isSameTime(before.reported, reported));
        if (!isSame) {
          hasChanged = true;
          exports[key] = reported === undefined ? null : [reported, judge(reported, { instant, notBefore })];
        }
      } else if (isServed !== seen.imports.has(key)) {
        hasChanged = true;
        imports[key] = isServed ? (isOn ? foundedAt : instant) : null;
      }
      yield;
    }
    return { seenAt: now, generation: hasChanged ? generation : known!.generation, exports, imports };
  }

  /**
   * Takes over what was judged of a cluster. `save` keeps it.
   * @returns the services whose rank changed
   */
  take(clusterId: string, sight: Sight | undefined): string[] {
    const sights = this.#sights;
    const known = sights.get(clusterId);
    if (sight === undefined) {
      if (known !== undefined) known.isCurrent = false;
      return [];
    }
    const { seenAt, generation, exports, imports } = sight.isWhole ? withGone(known, sight) : sight;
    const seen = known ?? SeenCluster.unseen(generation, seenAt);
    const changed = new Set([...Object.keys(exports), ...Object.keys(imports)]);
    for (const [key, rank] of Object.entries(exports)) {
      seen.setExport(sharedText(key), rank === null ? undefined : { reported: rank[0], counts: rank[1] });
      sights.reach(rank?.[1] ?? seenAt);
    }
    for (const [key, since] of Object.entries(imports)) {
      seen.setImport(sharedText(key), since ?? undefined);
      sights.reach(since ?? seenAt);
    }
    seen.seenAt = seenAt;
    seen.isCurrent = true;
    if (known === undefined || changed.size > 0) {
      seen.generation = generation;
      sights.set(clusterId, seen);
    }
    sights.reach(seenAt);
    return [...changed];
  }

  /**
   * Takes over all that another gateway knows of a cluster.
   * @param sight undefined for nothing: what is known stays
   * @returns the services whose rank changed
   */
  restore(clusterId: string, sight: Sight | undefined): string[] {
    return sight === undefined ? [] : this.take(clusterId, { ...sight, isWhole: true });
  }

  /** All ranks of a cluster as they are after what was judged of it. */
  whole(clusterId: string, sight: Sight): Sight {
    const { exports = [], imports } = this.#sights.get(clusterId) ?? {};
    const before = Array.from(exports, ([key, { reported, counts }]) => [key, [reported, counts]] as const);
    return {
      ...sight,
      exports: { ...Object.fromEntries(before), ...sight.exports },
      imports: { ...Object.fromEntries(imports ?? []), ...sight.imports },
      isWhole: true,
    };
  }

  /** Keeps what changed of a cluster. What cannot be kept is reported, and kept with the next change. */
  save(clusterId: string): Promise<void> {
    return this.#sights.keep(clusterId);
  }

  /** A cluster leaves the answers: its snapshot does not tell any more when it was last seen. `save` keeps it. */
  part(clusterId: string): void {
    const known = this.#sights.get(clusterId);
    if (known === undefined) return;
    known.isCurrent = false;
    this.#sights.set(clusterId, known);
  }

  /** As `part`, and keeps it. */
  parted(clusterId: string): Promise<void> {
    this.part(clusterId);
    return this.save(clusterId);
  }

  /** The first day as it is known now. */
  get founding(): FoundingDay {
    return this.#sights.founding.toRecord();
  }

  /** Takes over the first day as another gateway decided it. */
  found(day: FoundingDay): void {
    this.#sights.found(Founding.read(day)!, true);
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

/** A whole sight, which takes away every rank that it does not have. */
function withGone(known: SeenCluster | undefined, sight: Sight): Sight {
  const gone = <Value>(keys: Iterable<string> = [], table: Readonly<Record<string, Value | null>>) =>
    Object.fromEntries(Array.from(keys).flatMap((key) => (key in table ? [] : [[key, null]])));
  const exports = { ...sight.exports, ...gone(known?.exports.keys(), sight.exports) };
  const imports = { ...sight.imports, ...gone(known?.imports.keys(), sight.imports) };
  return { ...sight, exports, imports };
}
