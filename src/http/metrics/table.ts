import { type AccessCounters, DURATION_BOUNDS, type QueryCounters } from "../../answer/answer-query.ts";
import { EXCHANGE_BOUNDS } from "../../forward/counters.ts";
import type { Forwarder } from "../../forward/forwarder.ts";
import type { ClusterStatus, ServingStatus } from "../../gateway/gateway-types.ts";
import { FINDING_REASONS } from "../../merge/account.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { Objections } from "../../names/services.ts";
import { reasonLabel } from "../../snapshot/report.ts";
import type { TransferCounters } from "../../transfer/transfer-state.ts";
import type { ControlCounts } from "../push/desired.ts";
import {
  byJoinedLabels,
  byLabel,
  byLabels,
  counter,
  gauge,
  histogram,
  histogramSeries,
  type Metric,
  type MetricSnapshot,
  type MetricsSource,
  metricsSource,
  readTable,
  type Series,
  where,
} from "./metric.ts";
import type { StatusSource } from "./status.ts";

/** What the metrics of a gateway are read from. A host has no metrics of what it does not have. */
export interface MetricSources {
  readonly gateway: StatusSource;
  /** Unix milliseconds. */
  readonly clock: () => number;
  readonly counters?: QueryCounters | undefined;
  /** Absent if names out of zone are not forwarded. */
  readonly forwarder?: Forwarder | undefined;
  readonly access?: AccessCounters | undefined;
  readonly process?: ProcessFacts | undefined;
  /** What a secondary fetched and holds. */
  readonly transfer?:
    | { readonly counters: TransferCounters; readonly memory: { readonly bytes: number } }
    | undefined;
}

/** What a host knows of its process. */
export interface ProcessFacts {
  /** Bytes of memory that the process may take. */
  readonly memoryLimitBytes: number;
  /** When the server's certificate expires, in Unix milliseconds; undefined without TLS. */
  readonly certificateExpiresAt: () => number | undefined;
  /** Of the threads that answer clients. Default: there are none beside the main thread. */
  readonly threads?: ThreadCounts | undefined;
  /** Of the control plane. */
  readonly control?: ControlCounts;
}

/** What is known of the threads that answer clients. */
export interface ThreadCounts {
  /** Open connections for HTTP, by the number of the thread. */
  connections(): readonly number[];
  /** Threads that ended and were replaced. */
  replaced(): number;
}

/**
 * The gateway's status at one time. A secondary does not know conflicts and findings, but its delay behind
 * the primary.
 */
interface Status extends ServingStatus {
  /** Unix milliseconds. */
  readonly now: number;
  /** Undefined for a secondary, and where they take too long. */
  readonly objections: Objections | undefined;
}

interface Reading extends MetricSources {
  readonly status: Status;
}

const ofClusters = (read: (cluster: ClusterStatus, now: number) => number) => (status: Status) =>
  byLabel(
    "cluster",
    status.clusters.map((cluster) => [cluster.clusterId, read(cluster, status.now)]),
  );
const some = (value: number | undefined) => value ?? [];

// Functions, so that a bundle has only the rows that it reads.

/** What queries and requests counted. */
const queryMetrics = (): Metric<QueryCounters>[] => [
  counter(
    "clusterset_doh_queries_total",
    "DNS queries answered, by transport, view, outcome and type.",
    (from) => byLabels(from.queries()),
  ),
  counter(
    "clusterset_doh_rejected_requests_total",
    "Requests rejected before they became DNS queries, by HTTP status.",
    (from) => byLabel("status", from.rejected),
  ),
  counter("clusterset_doh_pushes_total", "Requests to the push API, by method and HTTP status.", (from) =>
    byJoinedLabels(["method", "status"], from.pushed),
  ),
  counter(
    "clusterset_doh_forwarded_queries_total",
    "DNS queries below a registered federation, by outcome at its name servers.",
    (from) => byLabel("outcome", from.forwarded),
  ),
  counter(
    "clusterset_doh_rate_limited_queries_total",
    "UDP queries above the rate limit of their client's network: dropped, or answered truncated.",
    (from) => byLabel("action", from.rateLimited),
  ),
  counter(
    "clusterset_doh_malformed_messages_total",
    "Messages over plain DNS and DNS over TLS that are not queries and got no answer, by transport.",
    (from) => byLabel("transport", from.malformed),
  ),
  counter(
    "clusterset_doh_limited_total",
    "Actions of limits, by the limit's key in the configuration (docs/reference/limits.md).",
    (from) => byLabel("limit", from.limits),
  ),
  counter(
    "clusterset_doh_connection_errors_total",
    "Errors of connections, streams and sockets, by source. Each ended only that connection or stream.",
    (from) => byLabel("source", from.errors.counts),
  ),
  counter(
    "clusterset_doh_damaged_rows_total",
    "Times that a damaged row of the database took its cluster out of the answers.",
    (from) => from.damagedRows,
  ),
  histogram(
    "clusterset_doh_query_duration_seconds",
    "Time from a decoded query to its answer in wire format.",
    (from) => histogramSeries(DURATION_BOUNDS, from.durations),
  ),
];

/** The gateway and its clusters. */
const statusMetrics = (): Metric<Status>[] => [
  gauge("clusterset_doh_ready", "1 when queries are answered.", ({ ready }) => Number(ready)),
  // Each thread has compiled what its clients requested.
  gauge(
    "clusterset_doh_compiled_bytes",
    "Bytes of compiled names in memory.",
    (at) => at.compiledBytes,
    "sum",
  ),
  gauge(
    "clusterset_doh_state_hash",
    "A hash of the rows of live clusters, as a number of 48 bits: gateways at one log position have the same.",
    ({ stateHash }) =>
      some(stateHash === undefined ? undefined : Number.parseInt(stateHash.slice(0, 12), 16)),
  ),
  gauge(
    "clusterset_doh_log_position",
    "The newest entry of the shared log that is in the answers.",
    ({ position }) => some(position),
  ),
  gauge("clusterset_doh_services", "Services that clusters report.", ({ services }) => services),
  gauge(
    "clusterset_doh_behind_seconds",
    "Time for which a change waits that answers should have, while they say that they are stale; else 0.",
    ({ behindSince, now }) => (behindSince === undefined ? 0 : (now - behindSince) / 1000),
  ),
  gauge(
    "clusterset_doh_stale_seconds",
    "Time since the primary last answered, while answers say that they are stale; else 0.",
    ({ staleSince, now, objections }) =>
      objections !== undefined ? [] : staleSince === undefined ? 0 : (now - staleSince) / 1000,
  ),
  gauge(
    "clusterset_doh_transfer_failing",
    "1 while the newest state of the primary cannot be taken over.",
    ({ transferError, objections }) => (objections === undefined ? Number(transferError !== undefined) : []),
  ),
  gauge(
    "clusterset_doh_store_failing",
    "1 while the disk takes no changes: what is in memory is answered.",
    ({ storeTrouble, objections }) => (objections === undefined ? [] : Number(storeTrouble !== undefined)),
  ),
  gauge(
    "clusterset_doh_conflicts",
    "Properties of services in which the cluster's value is not used, by reason.",
    ({ objections }) => (objections === undefined ? [] : conflictSeries(objections.conflicts)),
  ),
  gauge(
    "clusterset_doh_findings",
    "Objects of the cluster, or parts of them, that are not served, by reason.",
    ({ objections }) => (objections === undefined ? [] : findingSeries(objections.findings)),
  ),
  gauge(
    "clusterset_doh_cluster_live",
    "1 until the cluster's lease expires.",
    ofClusters(({ live }) => Number(live)),
  ),
  gauge(
    "clusterset_doh_cluster_never_seen",
    "1 for a cluster that may push, and never did since the gateway started.",
    ({ neverSeen = [] }) =>
      byLabel(
        "cluster",
        neverSeen.map((cluster) => [cluster, 1]),
      ),
  ),
  gauge(
    "clusterset_doh_cluster_snapshot_age_seconds",
    "Time since the cluster's last accepted push.",
    ofClusters(({ pushedAt }, now) => (now - pushedAt) / 1000),
  ),
  gauge(
    "clusterset_doh_cluster_lease_remaining_seconds",
    "Time until the cluster's lease expires; negative after that.",
    ofClusters(({ expiresAt }, now) => (expiresAt - now) / 1000),
  ),
  gauge(
    "clusterset_doh_cluster_degraded_seconds",
    "Time for which the worker of a live cluster has been degraded, by reason.",
    ({ clusters, now }) => degradationSeries(clusters, now),
  ),
];

/** Names out of zone. */
const forwardMetrics = (): Metric<Forwarder>[] => [
  counter(
    "clusterset_doh_outside_queries_total",
    "DNS queries for names out of zone where they are forwarded, by result.",
    ({ counters }) => byLabel("result", counters.results),
  ),
  counter(
    "clusterset_doh_upstream_dropped_records_total",
    "Records that were left out of answers of upstreams, by reason.",
    ({ counters }) => byLabel("reason", counters.droppedRecords),
  ),
  counter("clusterset_doh_upstream_failures_total", "Failed queries to upstreams.", ({ counters }) =>
    byLabel(
      "upstream",
      Array.from(counters.upstreams, ([upstream, { failures }]) => [upstream, failures]),
    ),
  ),
  counter(
    "clusterset_doh_upstream_hedges_total",
    "Queries that another upstream got because the first was slow.",
    ({ counters }) => counters.hedges,
  ),
  gauge(
    "clusterset_doh_upstream_up",
    "1 while the upstream answers; 0 while it is set aside because it failed.",
    (from) =>
      byLabel(
        "upstream",
        from.states().map(({ upstream, isSetAside }) => [upstream, isSetAside ? 0 : 1]),
      ),
    // A thread sets an upstream aside for itself: it is up where no thread did.
    "min",
  ),
  gauge(
    "clusterset_doh_cached_answers",
    "Answers of upstreams in the cache, stale ones included.",
    ({ cached }) => cached.answers,
    "sum",
  ),
  gauge(
    "clusterset_doh_cached_bytes",
    "Approximate size of these answers in bytes.",
    ({ cached }) => cached.bytes,
    "sum",
  ),
  histogram(
    "clusterset_doh_upstream_duration_seconds",
    "Time that upstreams took to answer.",
    ({ counters }) =>
      Array.from(counters.upstreams, ([upstream, counts]) =>
        histogramSeries(EXCHANGE_BOUNDS, counts, { upstream }),
      ).flat(),
  ),
];

/** The process, beside what prom-client has. */
const processMetrics = (): Metric<ProcessFacts>[] => [
  gauge(
    "clusterset_doh_memory_limit_bytes",
    "Memory that the process may take: the limit of its container, else the memory of the machine.",
    ({ memoryLimitBytes }) => memoryLimitBytes,
  ),
  gauge(
    "clusterset_doh_certificate_remaining_seconds",
    "Time until the certificate that clients see expires; no value without TLS.",
    ({ certificateExpiresAt }) => {
      const expiresAt = certificateExpiresAt();
      // Certificates expire by the wall clock.
      return expiresAt === undefined ? [] : (expiresAt - Date.now()) / 1000;
    },
  ),
  gauge(
    "clusterset_doh_control_streams",
    "Open streams of desired states.",
    ({ control }) => control?.streams ?? 0,
  ),
  counter(
    "clusterset_doh_control_lines_total",
    "Lines of desired states sent to clusters.",
    ({ control }) => control?.lines ?? 0,
  ),
  gauge(
    "clusterset_doh_thread_connections",
    "Open connections for HTTP, by the thread that answers them; no value where the main thread does.",
    ({ threads }) => byLabel("thread", (threads?.connections() ?? []).entries()),
  ),
  counter(
    "clusterset_doh_threads_replaced_total",
    "Answering threads that ended and were replaced.",
    ({ threads }) => threads?.replaced() ?? 0,
  ),
];

/** What a secondary fetched and holds. */
const transferMetrics = (): Metric<NonNullable<MetricSources["transfer"]>>[] => [
  counter(
    "clusterset_doh_transferred_parts_total",
    "Keys, lists and other parts that were fetched.",
    ({ counters }) => byLabel("from", Object.entries(counters.parts)),
  ),
  counter("clusterset_doh_transferred_bytes_total", "Bytes of parts that were fetched.", ({ counters }) =>
    byLabel("from", Object.entries(counters.bytes)),
  ),
  gauge("clusterset_doh_part_memory_bytes", "Size of the parts in memory.", ({ memory }) => memory.bytes),
];

/** Every metric of a gateway. */
const gatewayMetrics = (): Metric<Reading>[] => [
  ...where(({ counters }: Reading) => counters, queryMetrics()),
  ...where(({ status }: Reading) => status, statusMetrics()),
  ...where(({ forwarder }: Reading) => forwarder, forwardMetrics()),
  counter(
    "clusterset_doh_access_total",
    "Requests by access rule and outcome.",
    ({ access }) =>
      access && [
        ...Array.from(access.admitted, ([rule, value]) => ({ labels: { rule, outcome: "admitted" }, value })),
        ...Array.from(access.rejected, ([outcome, value]) => ({ labels: { rule: "", outcome }, value })),
      ],
  ),
  ...where(({ process }: Reading) => process, processMetrics()),
];

/** The metrics of a gateway now. */
export async function readMetrics(sources: MetricSources): Promise<MetricSnapshot[]> {
  return readTable(gatewayMetrics(), await reading(sources));
}

/** The metrics of a secondary, without counters of queries: each of many isolates would count for itself. */
export function secondaryMetrics(
  sources: Pick<MetricSources, "gateway" | "clock" | "transfer">,
): MetricsSource {
  const table = [
    ...where(({ status }: Reading) => status, statusMetrics()),
    ...where(({ transfer }: Reading) => transfer, transferMetrics()),
  ];
  return metricsSource(async () => readTable(table, await reading(sources)));
}

async function reading(sources: MetricSources): Promise<Reading> {
  const { gateway, clock } = sources;
  const objections = await gateway.survey?.();
  return { ...sources, status: { ...gateway.status(), now: clock(), objections } };
}

const KNOWN: ReadonlySet<string> = new Set(FINDING_REASONS);

/** Conflicts by reason and by the clusters whose values are not used. Reasons are those of this gateway. */
const conflictSeries = memoize((conflicts: readonly Conflict[]): readonly Series[] =>
  countByLabels(
    conflicts.flatMap(({ disagree, reason }) => disagree.map((cluster) => ({ cluster, reason }))),
  ),
);

/**
 * Findings by cluster and reason. Clusters choose the reasons of findings that they push: unknown ones count
 * as `other`, so that no cluster can add series without bound. For the same reason namespaces and names of
 * services are not labels.
 */
const findingSeries = memoize((findings: readonly ClusterFinding[]): readonly Series[] =>
  countByLabels(
    findings.map(({ clusterId: cluster, reason }) => ({
      cluster,
      reason: KNOWN.has(reason) ? reason : "other",
    })),
  ),
);

/**
 * What the workers of live clusters report, by reason; reasons of another version count as `other`, as with
 * findings.
 */
function degradationSeries(clusters: readonly ClusterStatus[], now: number): readonly Series[] {
  return clusters.flatMap(({ clusterId: cluster, live, degraded = [] }) => {
    const byReason = new Map<string, number>();
    for (const { reason, since } of live ? degraded : [])
      byReason.set(reasonLabel(reason), (now - since) / 1000);
    return Array.from(byReason, ([reason, value]) => ({ labels: { cluster, reason }, value }));
  });
}

function countByLabels(all: readonly { cluster: string; reason: string }[]): Series[] {
  const grouped = Map.groupBy(all, ({ cluster, reason }) => `${cluster} ${reason}`);
  return Array.from(grouped.values(), (group) => ({ labels: group[0]!, value: group.length }));
}

/**
 * A function of one object that gives the same result for the same object, as long as somebody has that
 * object.
 */
function memoize<Given extends object, Result>(compute: (given: Given) => Result): (given: Given) => Result {
  const known = new WeakMap<Given, { readonly result: Result }>();
  return (given) => {
    let memo = known.get(given);
    if (memo === undefined) {
      memo = { result: compute(given) };
      known.set(given, memo);
    }
    return memo.result;
  };
}
