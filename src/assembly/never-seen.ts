import type { DohGateway } from "../gateway/doh-gateway.ts";
import type { GatewayStatus, ServingStatus } from "../gateway/gateway-types.ts";
import type { Visibility } from "../merge/visibility/visibility.ts";

/**
 * A gateway whose status also names the clusters that may push, and of which it knows nothing: a worker that was never started, or a wrong cluster id, shows
 * nowhere else.
 * @param clusterIds of all push credentials
 */
export function withNeverSeen<Source extends Pick<DohGateway, "status">>(
  gateway: Source,
  clusterIds: readonly string[],
  { clusters }: Visibility = {},
): { status(): ReturnType<Source["status"]> } {
  const visible = [...new Set(clusterIds)].sort().filter((id) => clusters?.includes(id) !== false);
  return {
    status() {
      const status = gateway.status() as ReturnType<Source["status"]>;
      return visible.length === 0 ? status : { ...status, neverSeen: neverSeenIn(status, visible) };
    },
  };
}

function neverSeenIn(status: ServingStatus | GatewayStatus, visible: readonly string[]): string[] {
  const isPrimary = "conflicts" in status;
  // A secondary that has taken nothing over knows of no cluster.
  if (!isPrimary && status.rootHash === undefined) return [];
  const known = new Set(status.clusters.map(({ clusterId }) => clusterId));
  for (const clusterId of isPrimary ? status.left : []) known.add(clusterId);
  return visible.filter((clusterId) => !known.has(clusterId));
}
