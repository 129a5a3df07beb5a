/** Where a client outside every cluster is near to, in the words of nodes' labels (`topology.kubernetes.io/region` and `/zone`). */
export interface ClientPlace {
  readonly region: string;
  readonly zone?: string | undefined;
}

/** The name of the view that an image has for a place. No cluster id holds a colon. */
export function placeView({ region, zone }: ClientPlace): string {
  return zone === undefined ? `region:${region}` : `zone:${region}/${zone}`;
}

/** Whether a view is that of a place. */
export function isPlaceView(view: string): boolean {
  return view.includes(":");
}
