import type { ClusterFinding, Clusterset } from "../merge/clusterset.ts";
import { mergeClusterset } from "../merge/merge.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import { compileZoneImage } from "../zone/compile.ts";
import { type ListedRecord, listRecords } from "../zone/listing.ts";
import { UsageError } from "./usage-error.ts";

/** What a check looks at. */
export interface CheckOptions {
  /** Without or with the trailing dot; the first is canonical. */
  readonly zones: readonly string[];
  /** The cluster id of the asker, undefined for outside. */
  readonly view: string | undefined;
}

/** What the gateway would serve, and what it would say against it. */
export interface CheckReport {
  readonly clusters: readonly string[];
  readonly services: number;
  readonly records: readonly ListedRecord[];
  readonly conflicts: Clusterset["conflicts"];
  readonly findings: readonly ClusterFinding[];
}

/**
 * Takes snapshots through merge and compilation, as the gateway does.
 * @throws {UsageError} where two snapshots are of one cluster, or `view` is of none
 */
export function checkSnapshots(snapshots: readonly ClusterSnapshot[], options: CheckOptions): CheckReport {
  const clusters = snapshots.map(({ clusterId }) => clusterId);
  const twice = clusters.find((clusterId, index) => clusters.indexOf(clusterId) !== index);
  if (twice !== undefined)
    throw new UsageError(`two of the inputs are of the cluster ${JSON.stringify(twice)}`);
  if (options.view !== undefined && !clusters.includes(options.view))
    throw new UsageError(
      `--view ${JSON.stringify(options.view)} is none of the clusters: ${clusters.join(", ")}`,
    );
  const clusterset = mergeClusterset(snapshots);
  const { image, findings } = compileZoneImage(clusterset, { zones: options.zones });
  const records = new Map<string, ListedRecord>();
  for (const zone of image.zones)
    for (const record of listRecords(image, { zone: zone.name, view: options.view }))
      records.set(`${record.name} ${record.type} ${record.rdata}`, record);
  return {
    clusters: clusterset.clusters.map(({ clusterId }) => clusterId),
    services: clusterset.services.length,
    records: [...records.values()],
    conflicts: clusterset.conflicts,
    findings: [...clusterset.findings, ...findings],
  };
}
