import { UsageError } from "../../../config/values/usage-error.ts";
import type { ClusterFinding, Clusterset } from "../../../merge/clusterset.ts";
import { mergeClusterset } from "../../../merge/merge.ts";
import type { Pins } from "../../../merge/pins.ts";
import type { ClusterSnapshot } from "../../../snapshot/schema.ts";
import type { ListedRecord } from "../../../zone/listing.ts";
import { type Grant, grantsFor } from "../flags/speaks-for-flag.ts";
import { type ListedZone, listZones, type ZoneSelection } from "../listed-zones.ts";

/** The zones that the gateway would serve, with all problems. */
export interface CheckReport {
  readonly clusters: readonly string[];
  readonly services: number;
  /** The clusterset zone, once for each of its names. */
  readonly records: readonly ListedRecord[];
  /** The other zones: of federations, and of single clusters. */
  readonly zones: readonly ListedZone[];
  readonly conflicts: Clusterset["conflicts"];
  readonly findings: readonly ClusterFinding[];
}

/**
 * Merges snapshots into a clusterset by the rules of the gateway.
 * @throws {UsageError} if two snapshots are of one cluster, or a grant is for an unknown one
 */
export function mergeInputs(
  snapshots: readonly ClusterSnapshot[],
  grants: readonly Grant[],
  pins?: Pins,
): Clusterset {
  const clusters = snapshots.map(({ clusterId }) => clusterId);
  const twice = clusters.find((clusterId, index) => clusters.indexOf(clusterId) !== index);
  if (twice !== undefined) throw new UsageError(`two inputs have the cluster id ${JSON.stringify(twice)}`);
  return mergeClusterset(snapshots, { grants: grantsFor(grants, clusters), ...(pins && { pins }) });
}

/**
 * Merges and compiles snapshots like the gateway.
 * @throws {UsageError} if two snapshots are of one cluster, `view` or a grant names an unknown cluster, or a zone cannot be served
 */
export function checkSnapshots(
  snapshots: readonly ClusterSnapshot[],
  grants: readonly Grant[],
  selection: ZoneSelection,
  pins: Pins,
): CheckReport {
  const clusterset = mergeInputs(snapshots, grants, pins);
  const clusters = clusterset.clusters.map(({ clusterId }) => clusterId);
  if (selection.view !== undefined && !clusters.includes(selection.view))
    throw new UsageError(
      `--view ${JSON.stringify(selection.view)} is not one of the clusters: ${clusters.join(", ")}`,
    );
  const { zones, findings } = listZones(clusterset, selection);
  // All names of the clusterset zone have the same PTR records.
  const records = new Map<string, ListedRecord>();
  for (const { kind, records: listed } of zones)
    if (kind === "clusterset")
      for (const record of listed) records.set(`${record.name} ${record.type} ${record.rdata}`, record);
  return {
    clusters,
    services: clusterset.services.length,
    records: [...records.values()],
    zones: zones.filter(({ kind }) => kind !== "clusterset"),
    conflicts: clusterset.conflicts,
    findings: [...clusterset.findings, ...findings],
  };
}
