import { listRecords } from "../../../src/names/listing.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import type { ZoneOptions } from "../../../src/zone/zone-plan.ts";
import { worldOf } from "../../names/world-of.ts";

/** The records of services in a zone and a view, sorted, as `<name> <type> <data>` below the zone. */
export function recordsOf(
  snapshots: readonly ClusterSnapshot[],
  zone: string,
  view?: string,
  options: Partial<ZoneOptions> = {},
): string[] {
  return [...listRecords(worldOf(snapshots, options), { zone: `${zone}.`, view })]
    .filter(({ name, type }) => name !== `${zone}.` && type !== "TXT")
    .map(({ name, type, rdata }) => `${name} ${type} ${rdata}`.replaceAll(`.${zone}.`, ""))
    .sort();
}
