import type { ClustersetService } from "../../merge/clusterset.ts";
import type { MergedServices } from "../../merge/index/merged-services.ts";
import type { IndexedCluster, ServiceIndex } from "../../merge/index/service-index.ts";
import { compareText } from "../../merge/order.ts";
import type { EntryFilter } from "../../merge/visibility/visible.ts";
import type { LocalService } from "../../snapshot/schema.ts";
import type { SourceCluster, ZoneSource } from "../../zone/zone-source.ts";

/** The index as zones are compiled from it, as far as it exists in a scope: nothing is copied. */
export class IndexSource implements ZoneSource {
  readonly #index: ServiceIndex;
  readonly #services: MergedServices;
  #clusters: readonly SourceCluster[] | undefined;

  constructor(index: ServiceIndex, services: MergedServices) {
    this.#index = index;
    this.#services = services;
  }

  /** Whether clusters that are not live have a view. */
  get withAbsent(): boolean {
    return this.#services.withAbsent;
  }

  /** Live clusters by ascending id. */
  get clusters(): readonly SourceCluster[] {
    this.#clusters ??= this.#services.visible.clusterIds().map((clusterId) => this.#clusterOf(clusterId));
    return this.#clusters;
  }

  /** Has clusters looked at again: they, their namespaces, topology or settings of their zones changed. */
  clustersChanged(): void {
    this.#clusters = undefined;
  }

  /** `<namespace>/<name>` of every service. */
  serviceKeys(): Iterable<string> {
    return this.#services.keys();
  }

  service(key: string): ClustersetService | undefined {
    return this.#services.service(key);
  }

  serviceInSteps(key: string): Generator<void, ClustersetService | undefined> {
    return this.#services.serviceInSteps(key);
  }

  sizeOf(key: string): number | undefined {
    return this.#services.sizeOf(key);
  }

  noteOf(key: string): number | undefined {
    return this.#services.noteOf(key);
  }

  reportedKeys(): Iterable<string> {
    return this.#services.reportedKeys();
  }

  isReported(key: string): boolean {
    return this.#services.isReported(key);
  }

  #clusterOf(clusterId: string): SourceCluster {
    const { filter } = this.#services;
    const cluster = this.#index.clusters.get(clusterId)!;
    const { state, joined } = cluster;
    const [topology, clusterZone] = [state.single("topology"), state.single("clusterZone")];
    return {
      ...{ clusterId, joined },
      namespaces: namespacesOf(cluster, filter),
      region: topology?.region,
      zones: [...(topology?.zones ?? [])].sort(compareText),
      localZone: clusterZone && {
        zone: filter === undefined ? clusterZone : filter.zone(clusterZone),
        services: localServices(cluster, filter),
        pods: podsOf(cluster, filter),
      },
    };
  }
}

function namespacesOf({ namespaces }: IndexedCluster, filter: EntryFilter | undefined): ReadonlySet<string> {
  return filter === undefined ? namespaces : new Set([...namespaces].filter(filter.hasNamespace));
}

function localServices({ state }: IndexedCluster, filter: EntryFilter | undefined) {
  const get = (key: string): LocalService | undefined => {
    const service = state.entry("services", key);
    return filter === undefined || service === undefined ? service : filter.local(key, service);
  };
  return {
    get,
    *keys() {
      for (const key of state.keys("services")) if (filter === undefined || get(key) !== undefined) yield key;
    },
  };
}

function podsOf({ state }: IndexedCluster, filter: EntryFilter | undefined) {
  const isSeen = (key: string) => filter === undefined || filter.hasPod(key);
  return {
    has: (key: string) => state.has("pods", key) && isSeen(key),
    *keys() {
      for (const key of state.keys("pods")) if (isSeen(key)) yield key;
    },
  };
}
