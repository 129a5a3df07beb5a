import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { QueryCounters } from "../../../../src/answer/query-counters.ts";
import { countersOf, type MergeRule, type MetricSnapshot } from "../../../../src/http/metrics/metric.ts";
import { mergeMetrics, withNodeMetrics } from "../../../../src/http/metrics/node-metrics.ts";
import { readMetrics } from "../../../../src/http/metrics/table.ts";
import { fakeForwarder } from "../../../forward/fake-forwarder.ts";
import { FakeGateway, NOW } from "../../fake-gateway.ts";

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

/** Counters and histograms as threads have them: buckets are cumulative. */
const histogram = fc
  .array(fc.nat({ max: 9 }), { minLength: 3, maxLength: 3 })
  .map((counts): MetricSnapshot => {
    let held = 0;
    const buckets = counts.map((count, index) => {
      held += count;
      return { metricName: "h_bucket", labels: { le: ["1", "2", "+Inf"][index]! }, value: held };
    });
    return {
      name: "h",
      help: "H.",
      type: "histogram",
      aggregator: "sum",
      values: [
        ...buckets,
        { metricName: "h_sum", labels: {}, value: held * 2 },
        { metricName: "h_count", labels: {}, value: held },
      ],
    };
  });
const counter = fc
  .dictionary(fc.constantFrom("a", "b", "c", "d"), fc.nat({ max: 1000 }))
  .map((values) => metric("counter", "n_total", values));
const gauge = fc
  .tuple(fc.constantFrom("clusterset_doh_cached_bytes", "clusterset_doh_ready"), fc.nat())
  .map(([name, value]) => metric("gauge", name, { "": value }, name.endsWith("bytes") ? "sum" : "first"));
const thread = fc.tuple(counter, histogram, gauge).map((metrics): MetricSnapshot[] => metrics);
const threads = fc.array(thread, { maxLength: 5 });

const series = (metrics: readonly MetricSnapshot[]) =>
  metrics.flatMap(({ values }) =>
    values.map(({ metricName, labels }) => `${metricName}${JSON.stringify(labels)}`),
  );
const totals = (metrics: readonly MetricSnapshot[]) =>
  new Map(
    metrics
      .filter(({ type }) => type !== "gauge")
      .flatMap(({ values }) =>
        values.map(
          ({ metricName, labels, value }) => [`${metricName}${JSON.stringify(labels)}`, value] as const,
        ),
      ),
  );

it("a thread that has measured nothing yet changes no gauge", () => {
  const lag = (value: number) => [metric("gauge", "nodejs_eventloop_lag_p99_seconds", { "": value }, "max")];
  expect(merge(lag(1), lag(Number.NaN), lag(2))[0]!.values.map(({ value }) => value)).toEqual([2]);
});

describe("merging metrics of any threads", () => {
  it("has no series twice, and each series that a thread counts", () => {
    fc.assert(
      fc.property(thread, threads, threads, (main, others, ended) => {
        const merged = merge(main, ...others, ...ended.map(countersOf));
        const all = series(merged);
        expect(new Set(all).size).toBe(all.length);
        expect(new Set(merged.map(({ name }) => name)).size).toBe(merged.length);
        const counted = [main, ...others, ...ended].map(countersOf).flatMap(series);
        expect(counted.filter((one) => !all.includes(one))).toEqual([]);
      }),
    );
  });

  it("sums each counter and each bucket, in any order of the threads", () => {
    fc.assert(
      fc.property(thread, threads, (main, others) => {
        const expected = new Map<string, number>();
        for (const [key, value] of [main, ...others].flatMap((metrics) => [...totals(metrics)]))
          expected.set(key, (expected.get(key) ?? 0) + value);
        const compare = (metrics: readonly MetricSnapshot[]) => [...totals(metrics)].sort();
        expect(compare(merge(main, ...others))).toEqual([...expected].sort());
        expect(compare(merge(main, ...others.toReversed()))).toEqual([...expected].sort());
      }),
    );
  });

  it("never lets a counter go back when a thread ends", () => {
    fc.assert(
      fc.property(thread, thread, threads, (main, ends, others) => {
        const before = totals(merge(main, ends, ...others));
        const after = totals(merge(main, ...others, countersOf(ends)));
        expect([...after].sort()).toEqual([...before].sort());
      }),
    );
  });

  it("changes nothing where there is one thread", () => {
    fc.assert(
      fc.property(thread, (main) => {
        expect(merge(main)).toMatchObject(main);
      }),
    );
  });
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
