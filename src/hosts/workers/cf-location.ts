import type { ClientLocation, LocationFact } from "../../access/client.ts";
import { LOCATION_FACTS } from "../../access/client.ts";

/** The client's location from the `cf` object of a Worker's request; undefined without that object. */
export function locationOf(cf: unknown): ClientLocation | undefined {
  if (typeof cf !== "object" || cf === null) return undefined;
  const location: { [Fact in LocationFact]?: string } = {};
  for (const fact of LOCATION_FACTS) {
    const value: unknown = (cf as Record<string, unknown>)[fact];
    if (typeof value === "string") location[fact] = value;
  }
  return location;
}
