import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { LocalZone } from "./clusterset.ts";

/** The zones that clusters want served to themselves: nothing of them is merged, cluster.local answers stay local. */
export function listLocalZones(live: readonly ClusterSnapshot[]): LocalZone[] {
  return live.flatMap(({ clusterId, clusterZone, namespaces, services, pods }) =>
    clusterZone === undefined
      ? []
      : { clusterId, zone: clusterZone, namespaces: new Set(Object.keys(namespaces)), services, pods },
  );
}
