import type { ClusterMeta } from "../database/cluster-row.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { Clock } from "./clock.ts";
import type { OnGatewayEvent } from "./gateway-types.ts";

/** A worker tried to push for a cluster whose lease another worker holds, which reads something else. */
export class OtherInstance extends Error {
  readonly code = "OTHER_INSTANCE";
}

/** What keeps pushing for a cluster beside the worker that holds its lease. Times are those of the gateway's clock. */
export interface Contention {
  readonly instance: string;
  readonly since: number;
  readonly last: number;
}

/** Milliseconds after its last attempt for which another instance counts as there. Workers try at least once a minute. */
const COUNTS_FOR = 180_000;

/**
 * Lets only the instance that holds a cluster's lease push: two workers with one cluster id would replace each other's state with each push.
 * A request without an instance, and one for a lease without an instance, is let through.
 * @param contentions by cluster @throws {OtherInstance}
 */
export function refuseOtherInstance(
  contentions: Map<string, Contention>,
  clusterId: string,
  { instance: holder, expiresAt }: ClusterMeta,
  instance: string | undefined,
  { clock, onEvent }: { readonly clock: Pick<Clock, "now">; readonly onEvent: OnGatewayEvent },
): void {
  const contention = contentions.get(clusterId);
  const now = clock.now();
  if (instance === undefined || holder === undefined || instance === holder || expiresAt <= now) {
    if (contention === undefined || now - contention.last < COUNTS_FOR) return;
    contentions.delete(clusterId);
    onEvent({ event: "other-instance-gone", clusterId, instance: contention.instance });
    return;
  }
  contentions.set(clusterId, { instance, since: contention?.since ?? now, last: now });
  if (contention === undefined) onEvent({ event: "other-instance", clusterId, holder, instance });
  const seconds = Math.ceil((expiresAt - now) / 1000);
  throw new OtherInstance(
    `another worker pushes for "${clusterId}": its instance ${holder} holds the lease for ${seconds} s more, and this is instance ${instance}. They read different clusters or folders: give one of them another --cluster-id, or stop it`,
  );
}

/** A finding for a cluster for which a second worker pushes. */
export function contentionFinding(
  clusterId: string,
  holder: string | undefined,
  { instance }: Contention,
): ClusterFinding {
  return {
    clusterId,
    kind: "Cluster",
    name: clusterId,
    reason: "OtherInstance",
    message: `a second worker (instance ${instance}) pushes with this cluster id, and is rejected while the first one (instance ${holder}) holds the lease: what it reads is not answered. Give one of the two another cluster id, or stop it`,
  };
}
