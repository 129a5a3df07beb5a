import type { Shard } from "../clusterset.ts";
import type { Contribution } from "./declaration.ts";

/**
 * Each exporter's part in a service, in the order of `exporters` (federated service discovery, DNS Record
 * Creation). Addresses are as the cluster tells them; a load balancer's host name counts where it has no address.
 */
export function listShards(exporters: readonly string[], contributions: readonly Contribution[]): Shard[] {
  return exporters.flatMap((clusterId) => {
    const exported = contributions.find((one) => one.clusterId === clusterId)?.exported;
    if (exported === undefined) return [];
    const ingress = exported.loadBalancer ?? [];
    return {
      clusterId,
      clusterIPs: exported.headless ? [] : (exported.clusterIPs ?? []),
      externalAddresses: [...ingress.flatMap(({ ip }) => (ip ? [ip] : [])), ...(exported.externalIPs ?? [])],
      externalNames: ingress.flatMap(({ ip, hostname }) => (!ip && hostname ? [hostname] : [])),
    };
  });
}
