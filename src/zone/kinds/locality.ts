import type { Clusterset } from "../../merge/clusterset.ts";

/** Where a cluster's nodes are, as its snapshot tells. */
export interface Place {
  readonly region: string | undefined;
  readonly zones: readonly string[];
}

/** Orders clusters by how near they are to a source cluster. */
export class Locality {
  readonly #places: ReadonlyMap<string, Place>;

  constructor(clusterset: Clusterset) {
    this.#places = new Map(
      clusterset.clusters.map(({ clusterId, region, zones }) => [clusterId, { region, zones }]),
    );
  }

  /** Where a cluster is; nowhere in particular for one that says nothing. */
  placeOf(clusterId: string): Place {
    return this.#places.get(clusterId) ?? { region: undefined, zones: [] };
  }

  /**
   * How far a cluster (or an endpoint in `zone`) is from a source cluster: 0 the same cluster, 1 the same zone,
   * 2 the same region, 3 anywhere (federated service discovery, Objective).
   */
  distance(source: string, clusterId: string, zone?: string): 0 | 1 | 2 | 3 {
    if (source === clusterId) return 0;
    const here = this.placeOf(source);
    const there = this.placeOf(clusterId);
    if (here.region === undefined || here.region !== there.region) return 3;
    const zones = zone === undefined ? there.zones : [zone];
    return zones.some((one) => here.zones.includes(one)) ? 1 : 2;
  }
}
