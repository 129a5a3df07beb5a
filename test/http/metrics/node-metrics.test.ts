import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/answer-query.ts";
import {
  countersOf,
  formatMetrics,
  type MergeRule,
  type MetricSnapshot,
} from "../../../src/http/metrics/metric.ts";
import { mergeMetrics, snapshotOf, withNodeMetrics } from "../../../src/http/metrics/node-metrics.ts";
import { readMetrics } from "../../../src/http/metrics/table.ts";
import { fakeForwarder } from "../../forward/fake-forwarder.ts";
import { FakeGateway, NOW } from "../fake-gateway.ts";

function metric(
  type: MetricSnapshot["type"],
  name: string,
  values: Readonly<Record<string, number>>,
  aggregator: MergeRule = type === "gauge" ? "first" : "sum",
): MetricSnapshot {
  return {
    name,
    help: `${name}.`,
    type,
    aggregator,
    values: Object.entries(values).map(([at, value]) => ({
      labels: at ? { at } : {},
      value,
      metricName: name,
    })),
  };
}

const merge = (main: readonly MetricSnapshot[], ...threads: (readonly MetricSnapshot[])[]) =>
  mergeMetrics(main, threads);

describe("metrics of several threads", () => {
  it("have the main thread's gauges, but for those with a rule", () => {
    const gauges = (value: number) => [
      metric("gauge", "clusterset_doh_services", { "": value }),
      metric("gauge", "clusterset_doh_cached_bytes", { "": value }, "sum"),
      metric("gauge", "clusterset_doh_upstream_up", { a: value % 2, b: 1 }, "min"),
      metric("gauge", "nodejs_eventloop_lag_p99_seconds", { "": value }, "max"),
      metric("gauge", "nodejs_eventloop_lag_min_seconds", { "": value }, "min"),
    ];
    const merged = merge(gauges(3), gauges(4), gauges(5));
    expect(merged.map(({ name, values }) => [name, ...values.map(({ value }) => value)])).toEqual([
      ["clusterset_doh_services", 3],
      ["clusterset_doh_cached_bytes", 12],
      ["clusterset_doh_upstream_up", 0, 1],
      ["nodejs_eventloop_lag_p99_seconds", 5],
      ["nodejs_eventloop_lag_min_seconds", 3],
    ]);
    expect(merge([], gauges(4)).map(({ name }) => name)).not.toContain("clusterset_doh_services");
  });
});

it("a thread that has measured nothing yet changes no gauge", () => {
  const lag = (value: number) => [metric("gauge", "nodejs_eventloop_lag_p99_seconds", { "": value }, "max")];
  expect(merge(lag(1), lag(Number.NaN), lag(2))[0]!.values.map(({ value }) => value)).toEqual([2]);
});

it("counters add up by label, and do not go back when a thread ends", () => {
  const thread = (values: Readonly<Record<string, number>>) => [
    metric("counter", "n_total", values),
    metric("gauge", "clusterset_doh_cached_bytes", { "": 1 }, "sum"),
  ];
  const all = (metrics: readonly MetricSnapshot[]) =>
    metrics[0]!.values.map(({ labels, value }) => [labels.at, value]);
  const [main, ends, other] = [thread({ a: 1, b: 10 }), thread({ a: 2, c: 3 }), thread({ a: 4, c: 5 })];
  const expected = [
    ["a", 7],
    ["b", 10],
    ["c", 8],
  ];
  expect(all(merge(main, ends, other))).toEqual(expected);
  const ended = countersOf(ends);
  expect(all(merge(main, other, ended))).toEqual(expected);
  expect(ended.map(({ name }) => name)).toEqual(["n_total"]);
});

it("each gauge of Node.js has a rule, and those of the gateway are the main thread's but for four", async () => {
  const { forwarder } = fakeForwarder({});
  const sources = { gateway: new FakeGateway(), counters: new QueryCounters(), clock: () => NOW, forwarder };
  const metrics = await withNodeMetrics(() => readMetrics(sources)).snapshot();
  const rules = Object.groupBy(metrics, ({ aggregator }) => aggregator);
  const names = (rule: keyof typeof rules) =>
    rules[rule]!.filter(({ type }) => type === "gauge").map(({ name }) => name);
  expect(names("max")).toHaveLength(7);
  expect(names("min").filter((name) => name.startsWith("nodejs_"))).toEqual([
    "nodejs_eventloop_lag_min_seconds",
  ]);
  expect(names("first").filter((name) => name.startsWith("nodejs_"))).toEqual(["nodejs_version_info"]);
  expect(names("sum").filter((name) => name.startsWith("clusterset_"))).toEqual([
    "clusterset_doh_compiled_bytes",
    "clusterset_doh_cached_answers",
    "clusterset_doh_cached_bytes",
  ]);
  expect(names("min")).toContain("clusterset_doh_upstream_up");
});

it("a snapshot has values that are no ordinary numbers, text that must be escaped, and histograms, as prom-client writes them", async () => {
  const registers = [new Registry()];
  const labelNames = ["at"];
  const gauge = new Gauge({ name: "odd", help: 'a "line"\nand \\ more', labelNames, registers });
  gauge.set({ at: "nan" }, Number.NaN);
  gauge.set({ at: "high" }, Number.POSITIVE_INFINITY);
  gauge.set({ at: "low" }, Number.NEGATIVE_INFINITY);
  gauge.set({ at: 'a "b"\n\\c' }, 1.5);
  new Counter({ name: "none_total", help: "None.", labelNames, registers });
  const histogram = new Histogram({ name: "h", help: "H.", labelNames, buckets: [0.1, 1], registers });
  histogram.observe({ at: "a" }, 0.5);
  const text = formatMetrics(await snapshotOf(registers[0]!));
  // prom-client has a spelling of its own for one value.
  expect(text.replace("} NaN", "} Nan")).toBe(await registers[0]!.metrics());
  expect(text.split("\n").slice(0, 10)).toEqual([
    '# HELP odd a "line"\\nand \\\\ more',
    "# TYPE odd gauge",
    'odd{at="nan"} NaN',
    'odd{at="high"} +Inf',
    'odd{at="low"} -Inf',
    'odd{at="a \\"b\\"\\n\\\\c"} 1.5',
    "",
    "# HELP none_total None.",
    "# TYPE none_total counter",
    "",
  ]);
});
