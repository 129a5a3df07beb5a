import { Counter, Gauge, type Registry } from "prom-client";
import type { ClusterStatus } from "../../gateway/gateway-types.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import { FINDING_REASONS } from "../../merge/finding-reasons.ts";
import { memoize } from "../../merge/unchanged.ts";
import { reasonLabel } from "../../snapshot/report/degradation.ts";
import type { ControlCounts } from "../push/desired.ts";
import type { MetricSnapshot } from "./threads.ts";

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

/** Registers the gauges of a process beside those that prom-client has. */
export function registerProcess(registry: Registry, facts: ProcessFacts): void {
  new Gauge({
    name: "clusterset_doh_memory_limit_bytes",
    help: "Memory that the process may take: the limit of its container, else the memory of the machine.",
    registers: [registry],
    collect() {
      this.set(facts.memoryLimitBytes);
    },
  });
  new Gauge({
    name: "clusterset_doh_certificate_remaining_seconds",
    help: "Time until the certificate that clients see expires; no value without TLS.",
    registers: [registry],
    collect() {
      this.remove();
      const expiresAt = facts.certificateExpiresAt();
      // Certificates expire by the wall clock.
      if (expiresAt !== undefined) this.set((expiresAt - Date.now()) / 1000);
    },
  });
  const { control = { streams: 0, lines: 0 } } = facts;
  new Gauge({
    name: "clusterset_doh_control_streams",
    help: "Open streams of desired states.",
    registers: [registry],
    collect() {
      this.set(control.streams);
    },
  });
  new Counter({
    name: "clusterset_doh_control_lines_total",
    help: "Lines of desired states sent to clusters.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(control.lines);
    },
  });
  const { threads } = facts;
  new Gauge({
    name: "clusterset_doh_thread_connections",
    help: "Open connections for HTTP, by the thread that answers them; no value where the main thread does.",
    labelNames: ["thread"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [thread, count] of (threads?.connections() ?? []).entries()) this.set({ thread }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_threads_replaced_total",
    help: "Answering threads that ended and were replaced.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(threads?.replaced() ?? 0);
    },
  });
}

/** One value of a gauge, with its labels. */
export interface GaugeSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const KNOWN: ReadonlySet<string> = new Set(FINDING_REASONS);

/** Conflicts by reason and by the clusters whose values are not used. Reasons are those of this gateway. */
export const conflictSeries = memoize((conflicts: readonly Conflict[]): readonly GaugeSeries[] =>
  countByLabels(
    conflicts.flatMap(({ disagree, reason }) => disagree.map((cluster) => ({ cluster, reason }))),
  ),
);

/**
 * Findings by cluster and reason. Clusters choose the reasons of findings that they push: unknown ones count as
 * `other`, so that no cluster can add series without bound. For the same reason namespaces and names of services are not labels.
 */
export const findingSeries = memoize((findings: readonly ClusterFinding[]): readonly GaugeSeries[] =>
  countByLabels(
    findings.map(({ clusterId: cluster, reason }) => ({
      cluster,
      reason: KNOWN.has(reason) ? reason : "other",
    })),
  ),
);

/** What the workers of live clusters report, by reason; reasons of another version count as `other`, as with findings. */
export function degradationSeries(clusters: readonly ClusterStatus[], now: number): readonly GaugeSeries[] {
  return clusters.flatMap(({ clusterId: cluster, live, degraded = [] }) => {
    const byReason = new Map<string, number>();
    for (const { reason, since } of live ? degraded : [])
      byReason.set(reasonLabel(reason), (now - since) / 1000);
    return Array.from(byReason, ([reason, value]) => ({ labels: { cluster, reason }, value }));
  });
}

function countByLabels(all: readonly { cluster: string; reason: string }[]): GaugeSeries[] {
  const counts = new Map<string, { labels: { cluster: string; reason: string }; value: number }>();
  for (const { cluster, reason } of all) {
    const key = `${cluster} ${reason}`;
    const counted = counts.get(key);
    if (counted === undefined) counts.set(key, { labels: { cluster, reason }, value: 1 });
    else counted.value++;
  }
  return [...counts.values()];
}

/** Metrics in a text format, from the library of the host. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

/** Metrics that can be merged with those of other threads. */
export interface SnapshotSource extends MetricsSource {
  snapshot(): Promise<MetricSnapshot[]>;
}
