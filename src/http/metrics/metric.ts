/**
 * The value of a metric for a process of several threads: that of the main thread, or one of the values of
 * all threads.
 */
export type MergeRule = "first" | "sum" | "max" | "min";

/** One value of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Of histograms: the metric's name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
}

/**
 * A metric with all of its values at one moment, in the form of prom-client. It is structured-clonable, for
 * other threads.
 */
export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly aggregator: MergeRule;
  readonly values: readonly Sample[];
}

/** A value of a row's metric. */
export interface Series extends Omit<Sample, "metricName"> {
  readonly suffix?: "_bucket" | "_sum" | "_count";
}

/** A row of a table of metrics. */
export interface Metric<From> extends Omit<MetricSnapshot, "values"> {
  /** The values now; undefined where there is no such metric. */
  readonly read: (from: From) => Iterable<Series> | undefined;
}

/**
 * How a row is read: a number is one value without labels. Undefined: there is no such metric; an empty list:
 * its value is not known.
 */
type Read<From> = (from: From) => Iterable<Series> | number | undefined;

/** A counter: threads add up. */
export function counter<From>(name: string, help: string, read: Read<From>): Metric<From> {
  return { name, help, type: "counter", aggregator: "sum", read: seriesOf(read) };
}

/** A gauge: by default it is that of the main thread, which alone takes pushes. */
export function gauge<From>(
  name: string,
  help: string,
  read: Read<From>,
  aggregator: MergeRule = "first",
): Metric<From> {
  return { name, help, type: "gauge", aggregator, read: seriesOf(read) };
}

/** A histogram, of `histogramSeries`. */
export function histogram<From>(name: string, help: string, read: Read<From>): Metric<From> {
  return { name, help, type: "histogram", aggregator: "sum", read: seriesOf(read) };
}

function seriesOf<From>(read: Read<From>): Metric<From>["read"] {
  return (from) => {
    const value = read(from);
    return typeof value === "number" ? [{ labels: {}, value }] : value;
  };
}

/** A table in which nothing is shown unless there is something to read it from. */
export function where<From, Part>(
  part: (from: From) => Part | undefined,
  rows: readonly Metric<Part>[],
): Metric<From>[] {
  return rows.map(({ read, ...row }) => ({
    ...row,
    read: (from) => {
      const found = part(from);
      return found === undefined ? undefined : read(found);
    },
  }));
}

/** Values by one label. */
export function byLabel(
  label: string,
  values: Iterable<readonly [string | number, number]>,
): readonly Series[] {
  return Array.from(values, ([at, value]) => ({ labels: { [label]: at }, value }));
}

/** Values by several labels: each count has them beside it. */
export function byLabels<Labels extends object>(
  counts: Iterable<Labels & { readonly count: number }>,
): readonly Series[] {
  return Array.from(counts, ({ count, ...labels }) => ({ labels: labels as Series["labels"], value: count }));
}

/** Values by keys such as `PUT 200`: the values of several labels, joined by spaces. */
export function byJoinedLabels(
  labels: readonly string[],
  counts: Iterable<readonly [string, number]>,
): readonly Series[] {
  return Array.from(counts, ([key, value]) => {
    const values = key.split(" ");
    return { labels: Object.fromEntries(labels.map((label, index) => [label, values[index]!])), value };
  });
}

/**
 * The values of a histogram.
 * @param bounds of its buckets
 * @param buckets a count for each bound (not cumulative), and one for larger values
 */
export function histogramSeries(
  bounds: readonly number[],
  { buckets, sum }: { readonly buckets: Iterable<number>; readonly sum: number },
  labels: Sample["labels"] = {},
): readonly Series[] {
  let count = 0;
  const series: Series[] = Array.from(buckets, (held, index) => {
    count += held;
    return { suffix: "_bucket", labels: { ...labels, le: bounds[index] ?? "+Inf" }, value: count };
  });
  return [...series, { suffix: "_sum", labels, value: sum }, { suffix: "_count", labels, value: count }];
}

/** What a table has now. */
export function readTable<From>(table: readonly Metric<From>[], from: From): MetricSnapshot[] {
  return table.flatMap(({ read, ...metric }) => {
    const series = read(from);
    if (series === undefined) return [];
    const values = Array.from(series, ({ labels, value, suffix = "" }) => ({
      labels,
      value,
      metricName: metric.name + suffix,
    }));
    return { ...metric, values };
  });
}

/**
 * What a thread counted: what goes on to count after it ended, so that no counter of the process goes back.
 */
export function countersOf(metrics: readonly MetricSnapshot[]): MetricSnapshot[] {
  return metrics.filter(({ type, aggregator }) => type !== "gauge" && aggregator === "sum");
}

/** Metrics in a text format. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

/** Metrics that can be merged with those of other threads. */
export interface SnapshotSource extends MetricsSource {
  snapshot(): Promise<MetricSnapshot[]>;
}

/** Metrics as Prometheus reads them. */
export function metricsSource(snapshot: SnapshotSource["snapshot"]): SnapshotSource {
  return {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    snapshot,
    render: async () => formatMetrics(await snapshot()),
  };
}

/** Metrics in the text format of Prometheus, version 0.0.4. */
export function formatMetrics(metrics: readonly MetricSnapshot[]): string {
  const texts = metrics.map(({ name, help, type, values }) =>
    [
      `# HELP ${name} ${escapeText(help)}`,
      `# TYPE ${name} ${type}`,
      ...values.map(
        ({ metricName = name, labels, value }) =>
          `${metricName}${formatLabels(labels)} ${formatValue(value)}`,
      ),
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
