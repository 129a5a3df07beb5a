import { collectDefaultMetrics, type Metric as PromMetric, Registry } from "prom-client";
import {
  type MergeRule,
  type MetricSnapshot,
  metricsSource,
  type Sample,
  type SnapshotSource,
} from "./metric.ts";

/**
 * What a host says of itself beside the metrics of Node.js and its process. Reading costs queries nothing: a request for `/metrics` reads what was counted.
 * Only for hosts that prom-client runs on.
 */
export function withNodeMetrics(read: () => Promise<readonly MetricSnapshot[]>): SnapshotSource {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return metricsSource(async () => [...(await snapshotOf(registry)), ...(await read())]);
}

/** How the values of several threads become one. `process_…` is of the whole process; each thread has a heap and resources of its own. */
function mergeRuleOf(name: string): MergeRule {
  if (name.startsWith("process_") || name === "nodejs_version_info") return "main";
  // The delay of the thread whose queries wait longest.
  if (name.startsWith("nodejs_eventloop_lag_")) return name.includes("_min_") ? "min" : "max";
  return "sum";
}

/** What prom-client's metrics return for the text of a registry. */
interface Rendered extends Omit<MetricSnapshot, "samples" | "merge"> {
  readonly values?: readonly {
    readonly metricName?: string;
    readonly labels?: Sample["labels"];
    readonly sharedLabels?: Sample["labels"];
    readonly value: number;
  }[];
}

/** The metrics of a registry at this moment, in its order. */
export function snapshotOf(registry: Registry): Promise<MetricSnapshot[]> {
  return Promise.all(
    registry.getMetricsAsArray().map(async (registered) => {
      const metric = registered as unknown as PromMetric & { getForPromString?: () => Promise<unknown> };
      // prom-client has the buckets of histograms in the form for text alone.
      const rendered = (await (metric.getForPromString?.() ?? metric.get())) as Rendered;
      const { name, help, type, values = [] } = rendered;
      const samples = values.map(({ metricName = name, labels = {}, sharedLabels = {}, value }) => ({
        name: metricName,
        labels: { ...labels, ...sharedLabels },
        value,
      }));
      return { name, help, type, merge: mergeRuleOf(name), samples };
    }),
  );
}
