import type { SetBack } from "../merge/declaration.ts";
import type { Remembered } from "../merge/merge.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { LoadedRecords, RememberedStore } from "../store/remembered/remembered-store.ts";
import type { StoredCluster } from "../store/store.ts";
import type { OnGatewayEvent } from "./gateway-events.ts";
import { FOUNDING_RECORD, Founding } from "./remembered/founding.ts";
import { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT, judge } from "./remembered/judge.ts";
import {
  isSameTime,
  type Rank,
  type Seen,
  SeenCluster,
  type Served,
  servedKeys,
} from "./remembered/seen-cluster.ts";

export { FOUNDING } from "./remembered/founding.ts";
export { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT } from "./remembered/judge.ts";

/** What precedence is opened with. */
export interface PrecedenceParts {
  readonly store: RememberedStore;
  /** What was loaded from it. */
  readonly records: LoadedRecords;
  /** The snapshots that the gateway goes on with, damaged ones left out. */
  readonly stored: readonly StoredCluster[];
  readonly onEvent: OnGatewayEvent;
  /** Unix milliseconds. */
  readonly now: number;
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
  readonly #store: RememberedStore;
  readonly #onEvent: OnGatewayEvent;
  readonly #clusters = new Map<string, SeenCluster>();
  /** Records that are not kept yet. */
  readonly #unkept = new Set<string>();
  #founding = Founding.begin();
  /** No instant that is given from now on is before this one: the order of sights does not depend on the clock. */
  #latest = Number.NEGATIVE_INFINITY;

  private constructor({ store, onEvent }: PrecedenceParts) {
    this.#store = store;
    this.#onEvent = onEvent;
  }

  /** Takes over what is remembered. A cluster of which nothing is remembered counts as there from the beginning if it is stored. */
  static async open(parts: PrecedenceParts): Promise<Precedence> {
    const precedence = new Precedence(parts);
    precedence.#readClusters(parts);
    precedence.#readFounding(parts);
    for (const { snapshot, meta } of [...parts.stored].sort((a, b) => a.meta.pushedAt - b.meta.pushedAt))
      precedence.#adopt(snapshot, meta);
    await precedence.#keepAll();
    return precedence;
  }

  /** Remembers that a cluster exists before its first push is taken: a cluster without a record has lost it. */
  async introduce(clusterId: string, now: number): Promise<void> {
    const instant = this.#instant(now);
    if (this.#clusters.has(clusterId) || instant < FIRST_SERVICE_EXPORT) return;
    this.#set(
      clusterId,
      new SeenCluster({ generation: 0, heardAt: instant, exports: new Map(), imports: new Map() }),
    );
    await this.save(clusterId);
  }

  /** Takes over what a cluster serves from now on. `save` keeps it. */
  see(snapshot: ClusterSnapshot, { now, live, generation }: SeenAt): void {
    const { clusterId } = snapshot;
    const known = this.#clusters.get(clusterId);
    const instant = this.#instant(now);
    // The clock of a new gateway that was not set yet: nothing can be judged by it.
    if (instant < FIRST_SERVICE_EXPORT) return;
    if (this.#founding.pass(now, this.#latest)) this.#unkept.add(FOUNDING_RECORD);
    const { isOn } = this.#founding;
    const cannotBeOlder =
      live && known !== undefined ? Math.max(known.heardAt, instant - CLOCK_TOLERANCE) : instant;
    const notBefore = isOn ? Number.NEGATIVE_INFINITY : cannotBeOlder;
    this.#latest = Math.max(this.#latest, now);
    if (known?.wasServed(snapshot)) {
      known.heardAt = now;
      return;
    }
    const exports = new Map<string, Rank>();
    for (const key of servedKeys(snapshot.exports, snapshot.namespaces)) {
      const reported = snapshot.exports[key]!.exportedAt;
      const before = known?.exports.get(key);
      const isSame = before !== undefined && isSameTime(before.reported, reported);
      exports.set(key, isSame ? before : { reported, counts: judge(reported, { instant, notBefore }) });
    }
    const imports = new Map<string, number>();
    const importedAt = isOn ? (this.#founding.at ?? instant) : instant;
    for (const key of servedKeys(snapshot.imports, snapshot.namespaces))
      imports.set(key, known?.imports.get(key) ?? importedAt);
    this.#latest = Math.max(this.#latest, instant);
    this.#replace(clusterId, { generation, heardAt: now, exports, imports }, snapshot);
  }

  /** Keeps what changed of a cluster. What cannot be kept is reported, and kept with the next change. */
  async save(clusterId: string): Promise<void> {
    await this.#keep(FOUNDING_RECORD, () => this.#founding.toRecord());
    const name = SeenCluster.recordName(clusterId);
    await this.#keep(name, () => this.#clusters.get(clusterId)!.toRecord());
  }

  /** Keeps when a cluster that leaves the answers was last seen, which its snapshot does not tell any more. */
  async parted(clusterId: string): Promise<void> {
    const known = this.#clusters.get(clusterId);
    if (known === undefined) return;
    // Nothing else needs that part of the snapshot any more, and it may be large.
    known.served = undefined;
    this.#unkept.add(SeenCluster.recordName(clusterId));
    await this.save(clusterId);
  }

  setBack(clusterId: string): ReadonlyMap<string, SetBack> | undefined {
    return this.#clusters.get(clusterId)?.setBack;
  }

  importedSince(clusterId: string): ReadonlyMap<string, number> | undefined {
    return this.#clusters.get(clusterId)?.imports;
  }

  #instant(now: number): number {
    return now > this.#latest ? now : this.#latest + 1;
  }

  #replace(clusterId: string, seen: Seen, served: Served): void {
    const known = this.#clusters.get(clusterId);
    if (known !== undefined && hasSame(known.exports, seen.exports) && hasSame(known.imports, seen.imports)) {
      known.heardAt = seen.heardAt;
      known.served = served;
    } else this.#set(clusterId, new SeenCluster(seen, served));
  }

  #set(clusterId: string, cluster: SeenCluster): void {
    this.#clusters.set(clusterId, cluster);
    this.#unkept.add(SeenCluster.recordName(clusterId));
  }

  #readClusters({ records, stored }: PrecedenceParts): void {
    for (const [name, value] of records.values) {
      const clusterId = SeenCluster.clusterIdOf(name);
      const cluster = clusterId === undefined ? undefined : SeenCluster.read(value);
      if (clusterId !== undefined && cluster !== undefined) this.#clusters.set(clusterId, cluster);
    }
    for (const { latest } of this.#clusters.values()) this.#latest = Math.max(this.#latest, latest);
    for (const { meta } of stored) this.#latest = Math.max(this.#latest, meta.renewedAt);
  }

  #readFounding({ records, stored, now }: PrecedenceParts): void {
    const hasMemory = this.#clusters.size > 0 || stored.length > 0 || records.damage.length > 0;
    const kept = Founding.read(records.values.get(FOUNDING_RECORD));
    const isVoid = kept?.contradicts(now) === true;
    if (kept !== undefined && !(isVoid && !hasMemory)) this.#founding = kept;
    else if (hasMemory) {
      this.#founding = Founding.over();
      this.#unkept.add(FOUNDING_RECORD);
      this.#lost(FOUNDING_RECORD);
    }
    if (isVoid) this.#onEvent({ event: "founding-void", at: kept!.at!, now });
    if (this.#founding.pass(now, this.#latest)) this.#unkept.add(FOUNDING_RECORD);
  }

  /** Takes over a cluster that goes on being answered from its stored snapshot. */
  #adopt(snapshot: ClusterSnapshot, meta: StoredCluster["meta"]): void {
    const { generation, pushedAt, renewedAt } = meta;
    const { clusterId } = snapshot;
    const known = this.#clusters.get(clusterId);
    // The process died between the snapshot and the record.
    if (known !== undefined && generation > known.generation)
      this.see(snapshot, { now: Math.max(pushedAt, known.heardAt), live: false, generation });
    else this.#complete(snapshot, meta);
    const seen = this.#clusters.get(clusterId);
    if (seen !== undefined) seen.heardAt = Math.max(seen.heardAt, renewedAt);
  }

  /**
   * Ranks what is answered and has no rank. Where the whole record is lost, the cluster was there first, with its reported times. Where it is not,
   * the snapshot is an older one than the record is of, so that what the record lacks was withdrawn.
   */
  #complete(
    { clusterId, exports, imports, namespaces }: ClusterSnapshot,
    { generation, pushedAt }: StoredCluster["meta"],
  ): void {
    const known = this.#clusters.get(clusterId);
    const instant = this.#instant(pushedAt);
    if (instant < FIRST_SERVICE_EXPORT) return;
    const notBefore = known === undefined ? Number.NEGATIVE_INFINITY : instant;
    const ranks = new Map(known?.exports);
    for (const key of servedKeys(exports, namespaces)) {
      const reported = exports[key]!.exportedAt;
      if (!ranks.has(key)) ranks.set(key, { reported, counts: judge(reported, { instant, notBefore }) });
    }
    const since = new Map(known?.imports);
    for (const key of servedKeys(imports, namespaces))
      if (!since.has(key)) since.set(key, known === undefined ? pushedAt : instant);
    if (known !== undefined && ranks.size === known.exports.size && since.size === known.imports.size) return;
    if (known === undefined) this.#lost(SeenCluster.recordName(clusterId));
    else this.#latest = Math.max(this.#latest, instant);
    const last = known ?? { generation, heardAt: pushedAt };
    this.#set(
      clusterId,
      new SeenCluster({ generation: last.generation, heardAt: last.heardAt, exports: ranks, imports: since }),
    );
  }

  #lost(record: string): void {
    this.#onEvent({ event: "memory-lost", record });
  }

  async #keepAll(): Promise<void> {
    for (const name of [...this.#unkept]) {
      const clusterId = SeenCluster.clusterIdOf(name);
      const cluster = clusterId === undefined ? this.#founding : this.#clusters.get(clusterId)!;
      await this.#keep(name, () => cluster.toRecord());
    }
  }

  async #keep(name: string, write: () => unknown): Promise<void> {
    if (!this.#unkept.delete(name)) return;
    try {
      await this.#store.keep(name, write());
    } catch (error) {
      this.#unkept.add(name);
      this.#onEvent({ event: "memory-not-kept", record: name, error });
    }
  }
}

function hasSame<Value>(one: ReadonlyMap<string, Value>, other: ReadonlyMap<string, Value>): boolean {
  return one.size === other.size && [...other].every(([key, value]) => one.get(key) === value);
}
