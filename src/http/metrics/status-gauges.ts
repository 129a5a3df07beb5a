import type { ClusterStatus, ServingStatus } from "../../gateway/gateway-types.ts";
import type { Objections } from "../../names/objections.ts";
import { conflictSeries, degradationSeries, findingSeries, type GaugeSeries } from "./label-counts.ts";

/** The source of the status: a gateway that compiles, or a secondary. */
export interface StatusSource {
  status(): ServingStatus;
  /** Conflicts and findings, as of now; undefined where that takes too long. Absent for a secondary, which does not know them. */
  survey?(): Promise<Objections | undefined>;
  /** How often damaged rows took a cluster out of the answers; absent for a gateway without a database. */
  readonly damage?: { readonly count: number } | undefined;
}

/** A gauge over the gateway's status. */
export interface StatusGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /**
   * The values at `now` (Unix milliseconds); none while the gateway does not know them.
   * @param objections undefined for a secondary
   */
  readonly read: (
    status: ServingStatus,
    now: number,
    objections: Objections | undefined,
  ) => readonly GaugeSeries[];
}

/** The values of a gauge. @param clock Unix milliseconds */
export async function readGauge(
  { read }: StatusGauge,
  gateway: StatusSource,
  clock: () => number,
): Promise<readonly GaugeSeries[]> {
  const objections = await gateway.survey?.();
  return read(gateway.status(), clock(), objections);
}

/** Every gauge of the gateway's status. A secondary does not know conflicts and findings, but its delay behind the primary. */
export const STATUS_GAUGES: readonly StatusGauge[] = [
  ofGateway("clusterset_doh_ready", "1 when queries are answered.", ({ ready }) => Number(ready)),
  ofGateway(
    "clusterset_doh_compiled_bytes",
    "Bytes of compiled names in memory.",
    ({ compiledBytes }) => compiledBytes,
  ),
  ofGateway(
    "clusterset_doh_state_hash",
    "A hash of the rows of live clusters, as a number of 48 bits: gateways at one log position have the same.",
    ({ stateHash }) => (stateHash === undefined ? undefined : Number.parseInt(stateHash.slice(0, 12), 16)),
  ),
  ofGateway(
    "clusterset_doh_log_position",
    "The newest entry of the shared log that is in the answers.",
    ({ position }) => position,
  ),
  ofGateway("clusterset_doh_services", "Services that clusters report.", ({ services }) => services),
  ofGateway(
    "clusterset_doh_behind_seconds",
    "Time for which a change waits that answers should have, while they say that they are stale; else 0.",
    ({ behindSince }, now) => (behindSince === undefined ? 0 : (now - behindSince) / 1000),
  ),
  ofGateway(
    "clusterset_doh_stale_seconds",
    "Time since the primary last answered, while answers say that they are stale; else 0.",
    ({ staleSince }, now, objections) => {
      if (objections !== undefined) return undefined;
      return staleSince === undefined ? 0 : (now - staleSince) / 1000;
    },
  ),
  ofGateway(
    "clusterset_doh_transfer_failing",
    "1 while the newest state of the primary cannot be taken over.",
    ({ transferError }, _, objections) =>
      objections === undefined ? Number(transferError !== undefined) : undefined,
  ),
  ofGateway(
    "clusterset_doh_store_failing",
    "1 while the disk takes no changes: what is in memory is answered.",
    ({ storeTrouble }, _, objections) =>
      objections === undefined ? undefined : Number(storeTrouble !== undefined),
  ),
  {
    name: "clusterset_doh_conflicts",
    help: "Properties of services in which the cluster's value is not used, by reason.",
    labelNames: ["cluster", "reason"],
    read: (_, __, objections) => (objections === undefined ? [] : conflictSeries(objections.conflicts)),
  },
  {
    name: "clusterset_doh_findings",
    help: "Objects of the cluster, or parts of them, that are not served, by reason.",
    labelNames: ["cluster", "reason"],
    read: (_, __, objections) => (objections === undefined ? [] : findingSeries(objections.findings)),
  },
  ofClusters("clusterset_doh_cluster_live", "1 until the cluster's lease expires.", ({ live }) =>
    Number(live),
  ),
  {
    name: "clusterset_doh_cluster_never_seen",
    help: "1 for a cluster that may push, and never did since the gateway started.",
    labelNames: ["cluster"],
    read: ({ neverSeen = [] }) => neverSeen.map((cluster) => ({ labels: { cluster }, value: 1 })),
  },
  ofClusters(
    "clusterset_doh_cluster_snapshot_age_seconds",
    "Time since the cluster's last accepted push.",
    ({ pushedAt }, now) => (now - pushedAt) / 1000,
  ),
  ofClusters(
    "clusterset_doh_cluster_lease_remaining_seconds",
    "Time until the cluster's lease expires; negative after that.",
    ({ expiresAt }, now) => (expiresAt - now) / 1000,
  ),
  {
    name: "clusterset_doh_cluster_degraded_seconds",
    help: "Time for which the worker of a live cluster has been degraded, by reason.",
    labelNames: ["cluster", "reason"],
    read: ({ clusters }, now) => degradationSeries(clusters, now),
  },
];

function ofGateway(
  name: string,
  help: string,
  read: (status: ServingStatus, now: number, objections: Objections | undefined) => number | undefined,
): StatusGauge {
  return {
    name,
    help,
    labelNames: [],
    read(status, now, objections) {
      const value = read(status, now, objections);
      return value === undefined ? [] : [{ labels: {}, value }];
    },
  };
}

function ofClusters(
  name: string,
  help: string,
  read: (cluster: ClusterStatus, now: number) => number,
): StatusGauge {
  return {
    name,
    help,
    labelNames: ["cluster"],
    read: ({ clusters }, now) =>
      clusters.map((cluster) => ({
        labels: { cluster: cluster.clusterId },
        value: read(cluster, now),
      })),
  };
}
