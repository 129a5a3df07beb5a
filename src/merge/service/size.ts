import type { ClustersetService } from "../clusterset.ts";

/** How many ports, endpoints and addresses a service has, in all views: about what its records weigh. */
export function sizeOfService({ ports, endpoints, outside, byCluster, shards }: ClustersetService): number {
  let size = ports.length + endpoints.length + outside.addresses.length;
  for (const { addresses } of byCluster.values()) size += addresses.length;
  for (const { clusterIPs, externalAddresses, externalNames } of shards)
    size += clusterIPs.length + externalAddresses.length + externalNames.length;
  return size;
}
