import type { LoadedRecords } from "../../store/remembered/remembered-store.ts";
import type { ClusterMeta } from "../../store/store.ts";
import { FOUNDING_RECORD, Founding } from "./founding.ts";
import { FIRST_SERVICE_EXPORT, judge } from "./judge.ts";
import { isPartOfService, type ServedCluster } from "./judged-keys.ts";
import { Ranks } from "./ranks.ts";
import { SeenCluster, servedKeys } from "./seen-cluster.ts";
import type { Sights } from "./sights.ts";

/** A stored cluster as a gateway goes on with it. */
export interface ResumedCluster extends ServedCluster {
  /** As it was stored. */
  readonly meta: ClusterMeta;
  /** Whether its lease runs, so that it is answered. */
  readonly live: boolean;
}

/** What a gateway starts with. */
export interface Kept {
  readonly records: LoadedRecords;
  readonly stored: readonly ResumedCluster[];
  /** Unix milliseconds. */
  readonly now: number;
}

/** For `RememberedStore.load`: a cluster is as it will be held. */
export function packRecord(name: string, value: unknown): unknown {
  return SeenCluster.clusterIdOf(name) === undefined ? value : SeenCluster.read(value);
}

/** Takes over what the records say, which are packed. Where those of the first day are lost, or the clock contradicts them, the first day has ended. */
export function readRecords(sights: Sights, { records, stored, now }: Kept): void {
  for (const [name, value] of records.values) {
    const clusterId = SeenCluster.clusterIdOf(name);
    if (clusterId !== undefined && value instanceof SeenCluster) sights.load(clusterId, value);
  }
  for (const { meta } of stored) sights.reach(meta.renewedAt);

  const hasMemory = !sights.isEmpty || stored.length > 0 || records.damage.length > 0;
  const kept = Founding.read(records.values.get(FOUNDING_RECORD));
  const isVoid = kept?.contradicts(now) === true;
  if (kept !== undefined && !(isVoid && !hasMemory)) sights.found(kept, true);
  else if (hasMemory) {
    sights.found(Founding.over(), false);
    reportLost(sights, FOUNDING_RECORD);
  }
  if (isVoid) sights.onEvent({ event: "founding-void", at: kept!.at!, now });
  sights.pass(now);
}

/**
 * Ranks what a stored cluster is answered with and has no rank. Where its record is lost, the cluster was there first, with its reported times.
 * Where it is not, the snapshot is older than the record, so that what the record lacks was withdrawn.
 */
export function complete(sights: Sights, { clusterId, state, meta, live }: ResumedCluster): void {
  const known = sights.get(clusterId);
  const instant = sights.instant(meta.pushedAt);
  // The clock was not set, or nobody is answered from it.
  if (instant < FIRST_SERVICE_EXPORT || (known === undefined && !live)) return;
  const notBefore = known === undefined ? Number.NEGATIVE_INFINITY : instant;
  const ranks = new Ranks();
  for (const [key, rank] of known?.exports ?? []) ranks.set(key, rank);
  for (const key of servedKeys(state, "exports")) {
    if (ranks.has(key)) continue;
    const reported = state.entry("exports", key)!.exportedAt;
    ranks.set(key, { reported, counts: judge(reported, { instant, notBefore }) });
  }
  const since = new Map(known?.imports);
  for (const key of servedKeys(state, "imports"))
    if (!since.has(key) && isPartOfService(state, key))
      since.set(key, known === undefined ? meta.pushedAt : instant);
  if (known !== undefined && ranks.size === known.exports.size && since.size === known.imports.size) return;
  if (known === undefined) reportLost(sights, SeenCluster.recordName(clusterId));
  else sights.reach(instant);
  const { generation, seenAt } = known ?? { generation: meta.generation, seenAt: meta.pushedAt };
  const seen = new SeenCluster({ generation, seenAt, exports: ranks, imports: since });
  seen.isLost = known === undefined;
  sights.set(clusterId, seen);
}

function reportLost(sights: Sights, record: string): void {
  sights.onEvent({ event: "memory-lost", record });
}
