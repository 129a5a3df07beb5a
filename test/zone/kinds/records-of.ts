import { mergeClusterset } from "../../../src/merge/merge.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { listRecords } from "../../../src/zone/listing.ts";
import type { ZoneOptions } from "../../../src/zone/options.ts";

/** The records of services in a zone and a view, sorted, as `<name> <type> <data>` with names below the zone; without those of the zone itself. */
export function recordsOf(
  snapshots: readonly ClusterSnapshot[],
  zone: string,
  view?: string,
  options: Partial<ZoneOptions> = {},
): string[] {
  const { generation } = compileGeneration(mergeClusterset(snapshots), options);
  return [...listRecords(generation, { zone: `${zone}.`, view })]
    .filter(({ name, type }) => name !== `${zone}.` && type !== "TXT")
    .map(({ name, type, rdata }) => `${name} ${type} ${rdata}`.replaceAll(`.${zone}.`, ""))
    .sort();
}
