import { heldSnapshot, tableOf } from "../snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { Clusterset, LocalZone } from "./clusterset.ts";
import { MergedServices, type MergeOptions } from "./index/merged-services.ts";
import { type Remembered, ServiceIndex } from "./index/service-index.ts";
import { compareKeys, compareText } from "./order.ts";
import { filterRecord } from "./unchanged.ts";
import { EVERYTHING, type Visibility } from "./visibility/visibility.ts";

export type { MergeOptions } from "./index/merged-services.ts";
export type { Remembered } from "./index/service-index.ts";
export type { AddressSource } from "./service/addresses.ts";

/** What else decides what a clusterset is. */
export interface MergeContext {
  /** Default: what clusters report of creation times counts. */
  readonly remembered?: Remembered | undefined;
  /** What exists. Default: everything. */
  readonly visibility?: Visibility;
  /** Whether there is a view of clusters that are not live. Default: none. */
  readonly withAbsent?: boolean;
}

/** The clusterset that live snapshots make up by KEP-1645: at most one of each cluster, in any order. */
export function mergeClusterset(
  snapshots: readonly ClusterSnapshot[],
  options?: MergeOptions,
  { remembered, visibility = EVERYTHING, withAbsent = false }: MergeContext = {},
): Clusterset {
  const index = new ServiceIndex(remembered);
  const services = new MergedServices(index, visibility, options, Number.POSITIVE_INFINITY);
  services.withAbsent = withAbsent;
  for (const snapshot of snapshots) for (const _ of index.join(snapshot.clusterId, heldSnapshot(snapshot)));
  for (const _ of services.settle());
  return clustersetOf(index, services);
}

/** All of an index as it exists in a scope, settled. */
export function clustersetOf(index: ServiceIndex, services: MergedServices): Clusterset {
  const { filter, visible, withAbsent } = services;
  const live = visible.clusterIds().map((clusterId) => {
    const { state, namespaces } = index.clusters.get(clusterId)!;
    const topology = state.single("topology");
    return {
      state,
      cluster: {
        clusterId,
        namespaces: new Set(filter === undefined ? namespaces : [...namespaces].filter(filter.hasNamespace)),
        ...(topology?.region === undefined ? {} : { region: topology.region }),
        zones: [...(topology?.zones ?? [])].sort(compareText),
      },
    };
  });
  const localZones = live.flatMap(({ state, cluster: { clusterId, namespaces } }): LocalZone[] => {
    const clusterZone = state.single("clusterZone");
    if (clusterZone === undefined) return [];
    const [local, pods] = [tableOf(state, "services"), tableOf(state, "pods")];
    if (filter === undefined) return [{ clusterId, zone: clusterZone, namespaces, services: local, pods }];
    return [
      {
        ...{ clusterId, namespaces },
        zone: filter.zone(clusterZone),
        services: filterRecord(local, (service, key) => filter.local(key, service)),
        pods: filterRecord(pods, (pod, key) => (filter.hasPod(key) ? pod : undefined)),
      },
    ];
  });
  return {
    clusters: live.map(({ cluster }) => cluster),
    ...(withAbsent && { withAbsent }),
    services: [...services.keys()].sort(compareKeys).map((key) => services.service(key)!),
    localZones,
    ...services.list(),
  };
}
