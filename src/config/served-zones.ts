const ALWAYS_SERVED = "clusterset.local";

/** The zones to serve without doubles. `clusterset.local` is canonical unless it is listed further back. */
export function withAlwaysServed(zones: readonly string[]): string[] {
  const names = zones.map((zone) => zone.replace(/\.$/, "").toLowerCase());
  return [...new Set(names.includes(ALWAYS_SERVED) ? names : [ALWAYS_SERVED, ...names])];
}
