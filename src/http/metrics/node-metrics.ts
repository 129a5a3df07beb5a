import { AggregatorRegistry, collectDefaultMetrics, Registry } from "prom-client";
import { type MergeRule, type MetricSnapshot, metricsSource, type SnapshotSource } from "./metric.ts";

/**
 * What a host says of itself beside the metrics of Node.js and its process. Reading costs queries nothing: a
 * request for `/metrics` reads what was counted. Only for hosts that prom-client runs on.
 */
export function withNodeMetrics(read: () => Promise<readonly MetricSnapshot[]>): SnapshotSource {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return metricsSource(async () => [...(await snapshotOf(registry)), ...(await read())]);
}

/**
 * How the values of several threads become one. `process_…` is of the whole process; each thread has a heap
 * and resources of its own.
 */
function mergeRuleOf(name: string): MergeRule {
  if (name.startsWith("process_") || name === "nodejs_version_info") return "first";
  // The delay of the thread whose queries wait longest.
  if (name.startsWith("nodejs_eventloop_lag_")) return name.includes("_min_") ? "min" : "max";
  return "sum";
}

/** The metrics of a registry at this moment, in its order. */
export async function snapshotOf(registry: Registry): Promise<MetricSnapshot[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as Omit<MetricSnapshot, "aggregator">[];
  return metrics.map((metric) => ({ ...metric, aggregator: mergeRuleOf(metric.name) }));
}

/**
 * The metrics of a process: each series once, those of the main thread first.
 * @param others of other threads, and what threads counted that ended or did not answer in time: from
 * `countersOf`
 */
export function mergeMetrics(
  main: readonly MetricSnapshot[],
  others: readonly (readonly MetricSnapshot[])[],
): MetricSnapshot[] {
  const merged = others.map((metrics) =>
    metrics
      .filter(({ aggregator }) => aggregator !== "first")
      // A thread may have measured nothing yet.
      .map((metric) => ({ ...metric, values: metric.values.filter(({ value }) => !Number.isNaN(value)) })),
  );
  return AggregatorRegistry.aggregate([
    [...main],
    ...merged,
  ]).getMetricsAsArray() as unknown as MetricSnapshot[];
}
