import { createMemoryRememberedStore } from "../../store/remembered/remembered-store.ts";
import type { SharedLog } from "../../store/shared/shared-log.ts";
import { isDiskFailure } from "../../store/store-error.ts";
import { unixTime } from "../clock.ts";
import type { GoneCluster, LoadedState, LoadingParts, StateSource } from "../keeping/loaded-state.ts";
import { HeldCluster } from "../leases/held-cluster.ts";
import { received, receivedGone } from "../leases/stored-lease.ts";
import { Precedence } from "../remembered/precedence.ts";
import type { ServedGeneration } from "../stages.ts";
import { DecidedOrders } from "./decided-orders.ts";
import { KnownClusters, leftOf } from "./known-clusters.ts";
import { LoggedChanges } from "./logged-changes.ts";
import { Replica } from "./replica.ts";
import { stageAll } from "./staged-lines.ts";

/** A gateway's state in a log that several gateways share. @param hold for how many milliseconds after their end leases hold while the log is gone */
export function replicaOf(log: SharedLog, hold: number): StateSource {
  return { loadState: (parts) => loadLog(log, parts, hold), close: () => log.close() };
}

/** Loads what a log has now. A cluster that is damaged is not loaded: its worker pushes in full. @throws {StoreError} if the log cannot be read */
async function loadLog<Generation extends ServedGeneration>(
  log: SharedLog,
  { clock, turns, onEvent }: LoadingParts,
  hold: number,
): Promise<LoadedState<Generation>> {
  const { facts, clusters } = await log.load();
  const kept: HeldCluster[] = [];
  const gone: GoneCluster[] = [];
  const known = new KnownClusters();
  const precedence = await Precedence.open({
    ...{ store: createMemoryRememberedStore(), turns, onEvent },
    records: { values: new Map(), damage: [] },
    stored: [],
    now: unixTime(clock, clock.now()),
  });
  if (facts.founding !== undefined) precedence.found(facts.founding);
  for await (const shared of clusters) {
    const { clusterId } = shared;
    const cluster = HeldCluster.empty(clusterId);
    let isHeld = false;
    try {
      const stage = await stageAll(shared.lines, cluster.state, turns);
      const measured = await turns.run(cluster.measure(await turns.run(stage.finish())));
      await turns.run(cluster.apply(measured));
      isHeld = shared.meta !== undefined;
    } catch (error) {
      if (isDiskFailure(error)) throw error;
      onEvent({ event: "log-damaged", clusterId, error });
    }
    const { id, position, meta, elapsed, sight } = shared;
    precedence.restore(clusterId, sight);
    if (isHeld) {
      cluster.meta = received(meta!, elapsed, clock);
      kept.push(cluster);
    } else precedence.part(clusterId);
    if (shared.gone !== undefined) gone.push({ clusterId, ...receivedGone(shared.gone, elapsed, clock) });
    const endsAt = isHeld ? cluster.meta.expiresAt : Number.POSITIVE_INFINITY;
    known.set(clusterId, { id, position, isHeld, endsAt, left: leftOf(shared.gone) });
  }
  const reverse = new DecidedOrders(log, facts.orders, clock, onEvent, () => !known.holdsLost);
  let replica: Replica<Generation> | undefined;
  return {
    ...{ kept, gone, precedence, reverse, hold },
    createKeeper(parts) {
      replica = new Replica({ ...parts, log, reverse }, known, facts.position);
      return new LoggedChanges({ ...parts, log, reverse }, replica);
    },
    position: () => replica!.positions.position,
    disconnectedAt: () => replica!.disconnectedAt,
    follow: () => log.follow(facts.position, replica!),
  };
}
