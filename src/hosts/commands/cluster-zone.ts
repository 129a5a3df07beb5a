import { UsageError } from "../../config/usage-error.ts";
import { ZoneName } from "../../config/zone-name.ts";
import type { ClusterZone } from "../../snapshot/schema.ts";

/** Flags that ask for a cluster's own zone. */
export interface ClusterZoneFlags {
  readonly clusterZone?: string | undefined;
  readonly pods?: ClusterZone["pods"] | undefined;
}

/**
 * The zone that the flags ask for, without pod names unless they say so; undefined for none.
 * @throws {UsageError} for a name that is none, and for pod names without a zone
 */
export function readClusterZone({ clusterZone, pods }: ClusterZoneFlags): ClusterZone | undefined {
  if (clusterZone === undefined) {
    if (pods === undefined) return undefined;
    throw new UsageError(
      "--pods says which pods have names in the cluster's zone: name it with --cluster-zone",
    );
  }
  const name = ZoneName.safeParse(clusterZone);
  if (!name.success)
    throw new UsageError(
      `--cluster-zone ${JSON.stringify(clusterZone)} ${name.error.issues[0]!.message.replace("clusterset.example.org", "cluster.local")}`,
    );
  return { name: name.data, pods: pods ?? "disabled" };
}
