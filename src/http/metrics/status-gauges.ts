import type { ClusterStatus, GatewayStatus, ServingStatus } from "../../gateway/gateway-types.ts";

/** What metrics read: a gateway that compiles, or a secondary. */
export interface StatusSource {
  status(): ServingStatus | GatewayStatus;
}

/** A number of the gateway's status, as of `now` (Unix milliseconds). */
interface Gauge<Status> {
  readonly name: string;
  readonly help: string;
  /** Undefined where a gateway of that kind does not know it. */
  readonly read: (status: Status, now: number) => number | undefined;
}

/** Numbers of the whole gateway. */
export const STATUS_GAUGES: readonly Gauge<ServingStatus | GatewayStatus>[] = [
  {
    name: "clusterset_doh_ready",
    help: "1 when queries are answered from a loaded image.",
    read: ({ ready }) => Number(ready),
  },
  {
    name: "clusterset_doh_image_bytes",
    help: "Size of the zone image.",
    read: ({ imageBytes }) => imageBytes,
  },
  {
    name: "clusterset_doh_services",
    help: "Services in the zone image.",
    read: ({ services }) => services,
  },
  {
    name: "clusterset_doh_behind_seconds",
    help: "Time for which a change waits that answers should have, while they say that they are stale; else 0.",
    read: ({ behindSince }, now) => (behindSince === undefined ? 0 : (now - behindSince) / 1000),
  },
  // A secondary does not know conflicts and findings; what it has instead is how far behind its primary it is.
  {
    name: "clusterset_doh_stale_seconds",
    help: "Time since the primary last answered, while answers say that they are stale; else 0.",
    read: (status, now) => {
      if ("conflicts" in status) return undefined;
      return status.staleSince === undefined ? 0 : (now - status.staleSince) / 1000;
    },
  },
  {
    name: "clusterset_doh_conflicts",
    help: "Properties on which exporting clusters disagree.",
    read: (status) => ("conflicts" in status ? status.conflicts.length : undefined),
  },
  {
    name: "clusterset_doh_findings",
    help: "Objects, or parts of them, that are not served.",
    read: (status) => ("findings" in status ? status.findings.length : undefined),
  },
];

/** Numbers of each cluster, with the label `cluster`. */
export const CLUSTER_GAUGES: readonly Gauge<ClusterStatus>[] = [
  {
    name: "clusterset_doh_cluster_live",
    help: "1 until the cluster's lease expires.",
    read: ({ live }) => Number(live),
  },
  {
    name: "clusterset_doh_cluster_snapshot_age_seconds",
    help: "Time since the cluster's last accepted push.",
    read: ({ pushedAt }, now) => (now - pushedAt) / 1000,
  },
  {
    name: "clusterset_doh_cluster_lease_remaining_seconds",
    help: "Time until the cluster's lease expires; negative after that.",
    read: ({ expiresAt }, now) => (expiresAt - now) / 1000,
  },
];
