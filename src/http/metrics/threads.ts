import type { Metric as PromMetric, Registry } from "prom-client";

/** The value of a metric for the process: that of the main thread, or one of the values of all threads. */
type MergeRule = "main" | "sum" | "max" | "min";

/** Metrics of the whole process, which every thread would report with the same value. */
const OF_PROCESS = /^process_/;

/** How gauges are merged. All others are those of the main thread, which alone takes pushes and compiles. */
const GAUGES: ReadonlyMap<string, MergeRule> = new Map([
  // Each thread has compiled what its clients asked for.
  ["clusterset_doh_compiled_bytes", "sum"],
  // A thread sets an upstream aside for itself: it is up where no thread did.
  ["clusterset_doh_upstream_up", "min"],
  // Each thread has a cache, a heap and resources of its own.
  ["clusterset_doh_cached_answers", "sum"],
  ["clusterset_doh_cached_bytes", "sum"],
  ["nodejs_active_handles", "sum"],
  ["nodejs_active_handles_total", "sum"],
  ["nodejs_active_requests", "sum"],
  ["nodejs_active_requests_total", "sum"],
  ["nodejs_active_resources", "sum"],
  ["nodejs_active_resources_total", "sum"],
  ["nodejs_external_memory_bytes", "sum"],
  ["nodejs_heap_size_total_bytes", "sum"],
  ["nodejs_heap_size_used_bytes", "sum"],
  ["nodejs_heap_space_size_available_bytes", "sum"],
  ["nodejs_heap_space_size_total_bytes", "sum"],
  ["nodejs_heap_space_size_used_bytes", "sum"],
  // The delay of the thread whose queries wait longest.
  ["nodejs_eventloop_lag_seconds", "max"],
  ["nodejs_eventloop_lag_max_seconds", "max"],
  ["nodejs_eventloop_lag_mean_seconds", "max"],
  ["nodejs_eventloop_lag_min_seconds", "min"],
  ["nodejs_eventloop_lag_p50_seconds", "max"],
  ["nodejs_eventloop_lag_p90_seconds", "max"],
  ["nodejs_eventloop_lag_p99_seconds", "max"],
  ["nodejs_eventloop_lag_stddev_seconds", "max"],
]);

/** How the values of a metric in several threads become one: counters and histograms are summed. */
export function mergeRuleOf({ name, type }: Pick<MetricSnapshot, "name" | "type">): MergeRule {
  if (OF_PROCESS.test(name)) return "main";
  return type === "gauge" || type === "summary" ? (GAUGES.get(name) ?? "main") : "sum";
}

/** The parts of the metrics of a process. */
interface MetricParts {
  readonly main: readonly MetricSnapshot[];
  /** Of each other thread that answered. */
  readonly threads: readonly (readonly MetricSnapshot[])[];
  /** What threads counted that ended or did not answer in time: from `countersOf`. */
  readonly counted: readonly (readonly MetricSnapshot[])[];
}

/** The metrics of a process: each series once, those of the main thread first. */
export function mergeMetrics({ main, threads, counted }: MetricParts): MetricSnapshot[] {
  const merged = new Map<string, MergedMetric>();
  const add = (metric: MetricSnapshot) => {
    const known = merged.get(metric.name) ?? new MergedMetric(metric);
    merged.set(metric.name, known);
    for (const sample of metric.samples) known.add(sample);
  };
  for (const metric of main) add(metric);
  for (const metric of [...threads, ...counted].flat()) if (mergeRuleOf(metric) !== "main") add(metric);
  return Array.from(merged.values(), (metric) => metric.snapshot());
}

/** What a thread counted: what goes on to count after it ended, so that no counter of the process goes back. */
export function countersOf(metrics: readonly MetricSnapshot[]): MetricSnapshot[] {
  return metrics.filter((metric) => metric.type !== "gauge" && mergeRuleOf(metric) === "sum");
}

class MergedMetric {
  readonly #metric: MetricSnapshot;
  readonly #rule: MergeRule;
  readonly #samples = new Map<string, { -readonly [Key in keyof Sample]: Sample[Key] }>();

  constructor(metric: MetricSnapshot) {
    this.#metric = metric;
    this.#rule = mergeRuleOf(metric);
  }

  add(sample: Sample): void {
    const key = seriesKey(sample);
    const known = this.#samples.get(key);
    if (known === undefined) this.#samples.set(key, { ...sample });
    else known.value = mergeValues(this.#rule, known.value, sample.value);
  }

  snapshot(): MetricSnapshot {
    const { name, help, type } = this.#metric;
    return { name, help, type, samples: [...this.#samples.values()] };
  }
}

function mergeValues(rule: MergeRule, one: number, other: number): number {
  // A thread that has measured nothing yet.
  if (Number.isNaN(one)) return other;
  if (Number.isNaN(other)) return one;
  if (rule === "sum") return one + other;
  return rule === "min" ? Math.min(one, other) : Math.max(one, other);
}

function seriesKey({ name, labels }: Sample): string {
  const pairs = Object.entries(labels).map(([label, value]) => [label, String(value)]);
  return JSON.stringify([name, ...pairs.sort(([one], [other]) => (one! < other! ? -1 : 1))]);
}

/** One value of a metric. */
interface Sample {
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
