/** Finds the addresses that several clusters report for several services of the clusterset. */
export class ClaimsByAddress {
  readonly #claims = new Map<string, { readonly clusters: Set<string>; readonly keys: Set<string> }>();

  /** @param hex the address @param key `<namespace>/<name>` of a service of the clusterset */
  add(hex: string, cluster: string, key: string): void {
    const claims = this.#claims.get(hex) ?? { clusters: new Set(), keys: new Set() };
    this.#claims.set(hex, claims);
    claims.clusters.add(cluster);
    claims.keys.add(key);
  }

  /** By address in hex: the services. */
  contested(): ReadonlyMap<string, readonly string[]> {
    const contested = new Map<string, readonly string[]>();
    for (const [hex, { clusters, keys }] of this.#claims)
      if (clusters.size > 1 && keys.size > 1) contested.set(hex, [...keys]);
    return contested;
  }
}
