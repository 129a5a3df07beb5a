import { UsageError, ZoneName } from "../../config/values.ts";
import type { ClusterZone } from "../../snapshot/schema.ts";

/** The flags for a cluster's own zone. */
export interface ClusterZoneFlags {
  readonly clusterZone?: string | undefined;
  readonly pods?: ClusterZone["pods"] | undefined;
}

/**
 * The zone of the flags, by default without pod names; undefined without the flags.
 * @throws {UsageError} for an invalid name, and for pod names without a zone
 */
export function readClusterZone({ clusterZone, pods }: ClusterZoneFlags): ClusterZone | undefined {
  if (clusterZone === undefined) {
    if (pods === undefined) return undefined;
    throw new UsageError("--pods is for names in the cluster's zone: give the zone with --cluster-zone");
  }
  const name = ZoneName.safeParse(clusterZone);
  if (!name.success)
    throw new UsageError(
      `--cluster-zone ${JSON.stringify(clusterZone)} ${name.error.issues[0]!.message.replace("clusterset.example.org", "cluster.local")}`,
    );
  return { name: name.data, pods: pods ?? "disabled" };
}
