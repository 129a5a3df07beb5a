import type { ZoneCluster } from "../zone-plan.ts";

/** The region and zones of a cluster's nodes, from its snapshot. */
interface ClusterLocality {
  readonly region: string | undefined;
  readonly zones: readonly string[];
}

/** The origin of a query: a source cluster, or a locality outside. */
export interface Origin extends ClusterLocality {
  readonly clusterId: string | undefined;
}

/** Orders clusters by their distance from the origin of a query. */
export class Distances {
  readonly #localities: ReadonlyMap<string, ClusterLocality>;

  constructor(clusters: readonly ZoneCluster[]) {
    this.#localities = new Map(
      clusters.map(({ clusterId, region, zones }) => [clusterId, { region, zones }]),
    );
  }

  /** The region and zones of a cluster; empty if its snapshot has no topology. */
  localityOf(clusterId: string): ClusterLocality {
    return this.#localities.get(clusterId) ?? { region: undefined, zones: [] };
  }

  /** The origin of queries from a source cluster. */
  originOf(clusterId: string): Origin {
    return { clusterId, ...this.localityOf(clusterId) };
  }

  /**
   * The distance of a cluster (or an endpoint in `zone`) from an origin: 0 the same cluster, 1 the same zone,
   * 2 the same region, 3 anywhere (federated service discovery, Objective).
   */
  distance(here: Origin, clusterId: string, zone?: string): 0 | 1 | 2 | 3 {
    if (here.clusterId === clusterId) return 0;
    const there = this.localityOf(clusterId);
    if (here.region === undefined || here.region !== there.region) return 3;
    const zones = zone === undefined ? there.zones : [zone];
    return zones.some((one) => here.zones.includes(one)) ? 1 : 2;
  }
}
