import type { ClusterStatus, ServingStatus } from "../../gateway/gateway-types.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { Objections } from "../../names/services.ts";
import type { TransferCounters, TransferOrigin } from "../../transfer/transfer-state.ts";
import { describeDegraded, describeStale } from "../json.ts";
import {
  conflictSeries,
  degradationSeries,
  findingSeries,
  type GaugeSeries,
  type MetricsSource,
} from "./counts.ts";

/** The source of the status: a gateway that compiles, or a secondary. */
export interface StatusSource {
  status(): ServingStatus;
  /** Conflicts and findings, as of now; undefined where that takes too long. Absent for a secondary, which does not know them. */
  survey?(): Promise<Objections | undefined>;
  /** How often damaged rows took a cluster out of the answers; absent for a gateway without a database. */
  readonly damage?: { readonly count: number } | undefined;
}

/** A gauge over the gateway's status. */
interface StatusGauge {
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

/**
 * The metrics of a secondary for Prometheus (text format 0.0.4): the gateway's status, and what this secondary fetched and holds. Without
 * counters of queries, since each of many isolates would count for itself.
 * @param clock Unix milliseconds
 */
export function createStatusMetrics(
  gateway: StatusSource,
  clock: () => number,
  transfer?: TransferMetricsSource,
): MetricsSource {
  return {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    async render() {
      let text = "";
      for (const gauge of STATUS_GAUGES)
        text += format({ ...gauge, type: "gauge" }, await readGauge(gauge, gateway, clock));
      if (transfer !== undefined)
        for (const metric of TRANSFER_METRICS) text += format(metric, metric.read(transfer));
      return text;
    },
  };
}

function format(
  { name, help, type }: { readonly name: string; readonly help: string; readonly type: string },
  series: readonly GaugeSeries[] | undefined,
): string {
  if (series === undefined) return "";
  const values = series.map(({ labels, value }) => `${name}${formatLabels(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${values.join("")}\n`;
}

/** Values of labels need no escaping: cluster ids, reasons, origins. */
function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** The most entries of a list. */
const MOST_LISTED = 100;

/** A list, or its beginning. */
interface StatusList<Entry> {
  readonly total: number;
  /** At most 100. */
  readonly entries: readonly Entry[];
}

/** A gateway as its clients may see it, in JSON: what `/status` returns. */
export interface StatusReport {
  /** Whether queries get answers. */
  readonly ready: boolean;
  /** The newest entry of the shared log that is in the answers; absent where no log is shared. */
  readonly position?: number | undefined;
  /** The hash of what is served: gateways at one position of a log have the same. */
  readonly stateHash?: string | undefined;
  /** Why answers say that they are stale; empty if they do not. */
  readonly stale: readonly string[];
  readonly services: number;
  readonly clusters: readonly {
    readonly clusterId: string;
    readonly live: boolean;
    /** Seconds since its worker was last seen. */
    readonly lastSeenSeconds: number;
    /** Seconds until its lease expires; 0 if it has. */
    readonly expiresInSeconds: number;
    readonly exports: number;
    readonly imports: number;
    /** What keeps its worker from reading all of the cluster: `API server unreachable for 4 min`. Empty if nothing does. */
    readonly degraded: readonly string[];
  }[];
  /** Clusters that may push, and never did since the gateway started. */
  readonly neverSeen: readonly string[];
  /** Null on hosts that do not know them. */
  readonly conflicts: StatusList<Conflict> | null;
  readonly findings: StatusList<ClusterFinding> | null;
}

/** @param objections undefined where they are not known @param now Unix milliseconds by the gateway's clock */
export function statusReport(
  status: ServingStatus,
  objections: Objections | undefined,
  now: number,
): StatusReport {
  const seconds = (milliseconds: number) => Math.max(0, Math.round(milliseconds / 1000));
  return {
    ready: status.ready,
    position: status.position,
    stateHash: status.position === undefined ? undefined : status.stateHash,
    stale: describeStale(status, now),
    services: status.services,
    clusters: status.clusters.map(
      ({ clusterId, live, renewedAt, expiresAt, exports, imports, degraded }) => ({
        clusterId,
        live,
        exports,
        imports,
        lastSeenSeconds: seconds(now - renewedAt),
        expiresInSeconds: live ? seconds(expiresAt - now) : 0,
        degraded: describeDegraded({ degraded }, now),
      }),
    ),
    neverSeen: status.neverSeen ?? [],
    conflicts: listOf(objections?.conflicts),
    findings: listOf(objections?.findings),
  };
}

function listOf<Entry>(entries: readonly Entry[] | undefined): StatusList<Entry> | null {
  return entries === undefined ? null : { total: entries.length, entries: entries.slice(0, MOST_LISTED) };
}

/** What a secondary fetched and holds. */
interface TransferMetricsSource {
  readonly counters: TransferCounters;
  readonly memory: { readonly bytes: number };
}

/** A metric of what a secondary fetched and holds. */
interface TransferMetric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly read: (source: TransferMetricsSource) => readonly GaugeSeries[];
}

/** Every metric of what a secondary fetched and holds. */
const TRANSFER_METRICS: readonly TransferMetric[] = [
  {
    name: "clusterset_doh_transferred_parts_total",
    type: "counter",
    help: "Keys, lists and other parts that were fetched.",
    read: ({ counters }) => byOrigin(counters.parts),
  },
  {
    name: "clusterset_doh_transferred_bytes_total",
    type: "counter",
    help: "Bytes of parts that were fetched.",
    read: ({ counters }) => byOrigin(counters.bytes),
  },
  {
    name: "clusterset_doh_part_memory_bytes",
    type: "gauge",
    help: "Size of the parts in memory.",
    read: ({ memory }) => [{ labels: {}, value: memory.bytes }],
  },
];

function byOrigin(counts: Readonly<Record<TransferOrigin, number>>): readonly GaugeSeries[] {
  return Object.entries(counts).map(([from, value]) => ({ labels: { from }, value }));
}
