import type { Metric as PromMetric, Registry } from "prom-client";

/** One value of a metric. */
export interface Sample {
  /** The metric's name, for histograms with `_bucket`, `_sum` or `_count`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** A metric with all of its values at one moment. It is structured-clonable, for other threads. */
export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly samples: readonly Sample[];
}

/** What prom-client's metrics return for the text of a registry. */
interface Rendered extends Omit<MetricSnapshot, "samples"> {
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
      // Histograms of this project have their values in the form for text alone.
      const rendered = (await (metric.getForPromString?.() ?? metric.get())) as Rendered;
      const { name, help, type, values = [] } = rendered;
      const samples = values.map(({ metricName = name, labels = {}, sharedLabels = {}, value }) => ({
        name: metricName,
        labels: { ...labels, ...sharedLabels },
        value,
      }));
      return { name, help, type, samples };
    }),
  );
}

/** Metrics in the text format of Prometheus, version 0.0.4. */
export function formatMetrics(metrics: readonly MetricSnapshot[]): string {
  const texts = metrics.map(({ name, help, type, samples }) =>
    [
      `# HELP ${name} ${escapeText(help)}`,
      `# TYPE ${name} ${type}`,
      ...samples.map((sample) => `${sample.name}${formatLabels(sample.labels)} ${formatValue(sample.value)}`),
    ].join("\n"),
  );
  return `${texts.join("\n\n")}\n`;
}

function formatLabels(labels: Sample["labels"]): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escapeText(String(value)).replaceAll('"', '\\"')}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function formatValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}
