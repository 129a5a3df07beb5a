import type { SetBack } from "../../merge/declaration.ts";
import type { Remembered } from "../../merge/merge.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import type { RememberedStore } from "../../store/remembered/remembered-store.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT, judge } from "./judge.ts";
import { complete, type Kept, type ResumedCluster, readRecords } from "./recover.ts";
import { isSameTime, type Rank, type Seen, SeenCluster, servedKeys } from "./seen-cluster.ts";
import { Sights } from "./sights.ts";

export { FOUNDING } from "./founding.ts";
export { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT } from "./judge.ts";

/** What precedence is opened with: a store, and what was loaded from it and from that of the snapshots. */
export interface PrecedenceParts extends Kept {
  readonly store: RememberedStore;
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
export class Precedence implements Remembered {
  readonly #sights: Sights;

  private constructor(sights: Sights) {
    this.#sights = sights;
  }

  /** Takes over what is remembered. A cluster of which nothing is remembered counts as there from the beginning if it is answered. */
  static async open(parts: PrecedenceParts): Promise<Precedence> {
    const sights = new Sights(parts.store, parts.onEvent);
    const precedence = new Precedence(sights);
    readRecords(sights, parts);
    const byPush = [...parts.stored].sort((one, other) => one.meta.pushedAt - other.meta.pushedAt);
    for (const cluster of byPush) precedence.#resume(cluster);
    await sights.keepAll();
    return precedence;
  }

  /** Remembers that a cluster exists before its first push is taken: a cluster without a record has lost it. */
  async introduce(clusterId: string, now: number): Promise<void> {
    const heardAt = this.#sights.instant(now);
    if (this.#sights.get(clusterId) !== undefined || heardAt < FIRST_SERVICE_EXPORT) return;
    const nothing = { generation: 0, heardAt, exports: new Map(), imports: new Map() };
    this.#sights.set(clusterId, new SeenCluster(nothing));
    await this.save(clusterId);
  }

  /** Takes over what a cluster serves from now on. `save` keeps it. */
  see(snapshot: ClusterSnapshot, { now, live, generation }: SeenAt): void {
    const sights = this.#sights;
    const known = sights.get(snapshot.clusterId);
    const instant = sights.instant(now);
    // The clock of a new gateway that was not set yet: nothing can be judged by it.
    if (instant < FIRST_SERVICE_EXPORT) return;
    sights.pass(now);
    sights.reach(now);
    if (known?.wasServed(snapshot)) {
      known.heardAt = now;
      return;
    }
    sights.reach(instant);
    const notBefore = this.#notBefore(live ? known : undefined, instant);
    const exports = new Map<string, Rank>();
    for (const key of servedKeys(snapshot.exports, snapshot.namespaces)) {
      const reported = snapshot.exports[key]!.exportedAt;
      const before = known?.exports.get(key);
      const isSame = before !== undefined && isSameTime(before.reported, reported);
      exports.set(key, isSame ? before : { reported, counts: judge(reported, { instant, notBefore }) });
    }
    const { isOn, at: foundedAt = instant } = sights.founding;
    const imports = new Map<string, number>();
    for (const key of servedKeys(snapshot.imports, snapshot.namespaces))
      imports.set(key, known?.imports.get(key) ?? (isOn ? foundedAt : instant));
    this.#replace(known, { generation, heardAt: now, exports, imports }, snapshot);
  }

  /** Keeps what changed of a cluster. What cannot be kept is reported, and kept with the next change. */
  save(clusterId: string): Promise<void> {
    return this.#sights.keep(clusterId);
  }

  /** Keeps when a cluster that leaves the answers was last seen, which its snapshot does not tell any more. */
  async parted(clusterId: string): Promise<void> {
    const known = this.#sights.get(clusterId);
    if (known === undefined) return;
    // Nothing else needs that part of the snapshot any more, and it may be large.
    known.served = undefined;
    this.#sights.set(clusterId, known);
    await this.save(clusterId);
  }

  setBack(clusterId: string): ReadonlyMap<string, SetBack> | undefined {
    return this.#sights.get(clusterId)?.setBack;
  }

  importedSince(clusterId: string): ReadonlyMap<string, number> | undefined {
    return this.#sights.get(clusterId)?.imports;
  }

  /** Before that no export can have been created that appears now. @param known the cluster, if its lease ran since it was last seen */
  #notBefore(known: SeenCluster | undefined, instant: number): number {
    if (this.#sights.founding.isOn) return Number.NEGATIVE_INFINITY;
    return known === undefined ? instant : Math.max(known.heardAt, instant - CLOCK_TOLERANCE);
  }

  #replace(known: SeenCluster | undefined, seen: Seen, snapshot: ClusterSnapshot): void {
    const { clusterId, exports, imports, namespaces } = snapshot;
    // Not the whole snapshot, which may be large and is soon replaced.
    const served = { exports, imports, namespaces };
    if (known !== undefined && hasSame(known.exports, seen.exports) && hasSame(known.imports, seen.imports)) {
      known.heardAt = seen.heardAt;
      known.served = served;
    } else this.#sights.set(clusterId, new SeenCluster(seen, served));
  }

  /** Goes on with a stored cluster. */
  #resume(cluster: ResumedCluster): void {
    const { clusterId } = cluster.snapshot;
    const { generation, pushedAt, renewedAt } = cluster.meta;
    const known = this.#sights.get(clusterId);
    // The process died between the snapshot and the record.
    if (known !== undefined && generation > known.generation)
      this.see(cluster.snapshot, { now: Math.max(pushedAt, known.heardAt), live: false, generation });
    else complete(this.#sights, cluster);
    const seen = this.#sights.get(clusterId);
    if (seen !== undefined) seen.heardAt = Math.max(seen.heardAt, renewedAt);
  }
}

function hasSame<Value>(one: ReadonlyMap<string, Value>, other: ReadonlyMap<string, Value>): boolean {
  return one.size === other.size && [...other].every(([key, value]) => one.get(key) === value);
}
