import { HeldTables } from "../../snapshot/held/held-tables.ts";
import type { RememberedStore } from "../../store/remembered/remembered-store.ts";
import type { SnapshotStore } from "../../store/store.ts";
import { unixTime } from "../clock.ts";
import { HeldCluster } from "../leases/held-cluster.ts";
import { resumed } from "../leases/stored-lease.ts";
import { KeptChanges } from "../pushing/kept-changes.ts";
import { Precedence } from "../remembered/precedence.ts";
import { packRecord, type ResumedCluster } from "../remembered/recover.ts";
import { ReverseMemory } from "../remembered/reverse-memory.ts";
import type { ServedGeneration } from "../stages.ts";
import type { LoadedState, LoadingParts } from "./loaded-state.ts";

/** Loads what a store of this gateway has, and what is remembered. @throws {StoreError} if it cannot be loaded */
export async function loadStore<Generation extends ServedGeneration>(
  store: SnapshotStore,
  remembered: RememberedStore,
  { clock, turns, onEvent }: LoadingParts,
): Promise<LoadedState<Generation>> {
  const now = clock.now();
  const kept: HeldCluster[] = [];
  const stored: ResumedCluster[] = [];
  for await (const { clusterId, snapshot, meta } of store.load()) {
    const following = store.entries?.(clusterId) ?? HeldTables.of(snapshot!);
    const cluster = HeldCluster.in(clusterId, following, resumed(meta, clock));
    const { state } = cluster;
    kept.push(cluster);
    stored.push({ clusterId, state, meta, live: cluster.meta.expiresAt > now });
  }
  const records = await remembered.load(packRecord);
  for (const copy of records.damage) onEvent({ event: "memory-damaged", ...copy });
  const precedence = await Precedence.open({
    ...{ store: remembered, turns, records, stored, onEvent, now: unixTime(clock, now) },
  });
  return {
    ...{ kept, precedence, hold: 0 },
    reverse: ReverseMemory.from(remembered, records.values, onEvent),
    createKeeper: (parts, queue) => new KeptChanges({ ...parts, store }, queue),
    stateOf: (clusterId) => store.entries?.(clusterId),
  };
}
