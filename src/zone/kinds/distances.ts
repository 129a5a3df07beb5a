import type { Clusterset } from "../../merge/clusterset.ts";

/** Where a cluster's nodes are, as its snapshot tells. */
export interface ClusterLocality {
  readonly region: string | undefined;
  readonly zones: readonly string[];
}

/** Where an asker is: in a source cluster, or outside with a place that is known. */
export interface Origin extends ClusterLocality {
  readonly clusterId: string | undefined;
}

/** Orders clusters by how near they are to an asker. */
export class Distances {
  readonly #localities: ReadonlyMap<string, ClusterLocality>;

  constructor(clusterset: Clusterset) {
    this.#localities = new Map(
      clusterset.clusters.map(({ clusterId, region, zones }) => [clusterId, { region, zones }]),
    );
  }

  /** Where a cluster is; nowhere in particular for one that says nothing. */
  localityOf(clusterId: string): ClusterLocality {
    return this.#localities.get(clusterId) ?? { region: undefined, zones: [] };
  }

  /** Where an asker in a source cluster is. */
  originOf(clusterId: string): Origin {
    return { clusterId, ...this.localityOf(clusterId) };
  }

  /**
   * How far a cluster (or an endpoint in `zone`) is from an asker: 0 the same cluster, 1 the same zone,
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
