/** The region and zone of a client outside every cluster, with the values of nodes' labels (`topology.kubernetes.io/region` and `/zone`). */
export interface Locality {
  readonly region: string;
  readonly zone?: string | undefined;
}

/** The name of a view for a locality. A cluster id never contains a colon. */
export function localityView({ region, zone }: Locality): string {
  return zone === undefined ? `region:${region}` : `zone:${region}/${zone}`;
}

/** Whether a view is that of a locality. */
export function isLocalityView(view: string): boolean {
  return view.includes(":");
}
