import type { ServingStatus } from "../gateway/gateway-types.ts";
import type { Visibility } from "../merge/visibility/visibility.ts";

/**
 * A gateway whose status also names the clusters that may push, and of which it knows nothing: a worker that was never started, or a wrong cluster id, shows
 * nowhere else.
 * @param clusterIds of all push credentials
 */
export function withNeverSeen<Status extends ServingStatus>(
  gateway: { status(): Status; hasLeft?(clusterId: string): boolean },
  clusterIds: readonly string[],
  { clusters }: Visibility = {},
): { status(): Status } {
  const visible = [...new Set(clusterIds)].sort().filter((id) => clusters?.includes(id) !== false);
  return {
    status() {
      const status = gateway.status();
      // A secondary that has taken nothing over knows of no cluster.
      if (visible.length === 0 || (gateway.hasLeft === undefined && status.stateHash === undefined))
        return status;
      const known = new Set(status.clusters.map(({ clusterId }) => clusterId));
      const neverSeen = visible.filter((id) => !known.has(id) && gateway.hasLeft?.(id) !== true);
      return { ...status, neverSeen };
    },
  };
}
