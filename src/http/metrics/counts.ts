import type { ClusterStatus } from "../../gateway/gateway-types.ts";
import { FINDING_REASONS } from "../../merge/account.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import { memoize } from "../../merge/clusterset.ts";
import { reasonLabel } from "../../snapshot/degradation.ts";
import type { MetricSnapshot } from "./threads.ts";

/** Whether a request was admitted; if not, whether it has no credential or an unknown one. */
type AccessOutcome = "admitted" | "missing" | "unknown";

/** One series of the counter of admissions. */
interface AccessCount {
  /** The rule that admitted the client; empty if none did. */
  readonly rule: string;
  readonly outcome: AccessOutcome;
  readonly count: number;
}

/** Counts admissions by rule. Rules are configured, so clients cannot add series. */
export class AccessCounters {
  readonly #counts = new Map<string, { rule: string; outcome: AccessOutcome; count: number }>();

  admitted(rule: string): void {
    this.#count(rule, rule, "admitted");
  }

  rejected(outcome: "missing" | "unknown"): void {
    // No rule's name starts like this.
    this.#count(` ${outcome}`, "", outcome);
  }

  /** The series with at least one count. */
  counts(): Iterable<AccessCount> {
    return this.#counts.values();
  }

  #count(key: string, rule: string, outcome: AccessOutcome): void {
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { rule, outcome, count: 1 });
    else counted.count++;
  }
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
