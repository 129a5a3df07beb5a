/** Where a client outside every cluster is near to, in the words of nodes' labels (`topology.kubernetes.io/region` and `/zone`). */
export interface Locality {
  readonly region: string;
  readonly zone?: string | undefined;
}

/** The name of the view that an image has for a place. No cluster id holds a colon. */
export function localityView({ region, zone }: Locality): string {
  return zone === undefined ? `region:${region}` : `zone:${region}/${zone}`;
}

/** Whether a view is that of a place. */
export function isLocalityView(view: string): boolean {
  return view.includes(":");
}
