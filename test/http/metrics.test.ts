import { Hono } from "hono";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { QueryCounters } from "../../src/answer/answer-query.ts";
import type { AppEnvironment } from "../../src/http/messages/environment.ts";
import {
  countersOf,
  formatMetrics,
  type MergeRule,
  type MetricSnapshot,
  metricsSource,
} from "../../src/http/metrics/metric.ts";
import { mergeMetrics, snapshotOf, withNodeMetrics } from "../../src/http/metrics/node-metrics.ts";
import type { StatusSource } from "../../src/http/metrics/status.ts";
import { readMetrics, secondaryMetrics } from "../../src/http/metrics/table.ts";
import { TransferCounters } from "../../src/transfer/transfer-state.ts";
import { fakeForwarder } from "../forward/fake-forwarder.ts";
import { base64url, FakeGateway, NOW, query } from "./fake-gateway.ts";
import { openApp } from "./open-app.ts";

function start() {
  const gateway = new FakeGateway();
  const counters = new QueryCounters();
  const metrics = metricsSource(() => readMetrics({ gateway, counters, clock: () => NOW }));
  const pushRoutes = new Hono<AppEnvironment>().put("/:clusterId", (c) =>
    c.body(null, c.req.param("clusterId") === "a" ? 204 : 401),
  );
  return { app: openApp({ gateway, counters, metrics, pushRoutes }), gateway };
}

test("/metrics have queries, durations, pushes, rejections and the clusters, also those that never pushed", async () => {
  const { app, gateway } = start();
  gateway.state = { ...gateway.state, neverSeen: ["c", "d", "e", "f", "g", "h", "i"] };
  expect(await (await app.request("/readyz")).text()).toBe(
    "ready: 2 of 9 clusters live; c, d, e, f, g and 2 more never seen\n",
  );
  const wire = `/dns-query?dns=${base64url(query("web.shop.svc.clusterset.test"))}`;
  await app.request(wire);
  await app.request(wire);
  await app.request("/dns-query");
  await app.request("/api/v1/clusters/a", { method: "PUT" });
  await app.request("/api/v1/clusters/b", { method: "PUT" });
  for (const scrape of [1, 2]) {
    const response = await app.request("/metrics");
    expect(response.headers.get("content-type")).toContain("text/plain; version=0.0.4");
    const lines = (await response.text()).split("\n");
    expect(lines, `scrape ${scrape}`).toEqual(
      expect.arrayContaining([
        'clusterset_doh_queries_total{transport="https",view="outside",outcome="answer",type="A"} 2',
        'clusterset_doh_query_duration_seconds_bucket{le="+Inf"} 2',
        "clusterset_doh_query_duration_seconds_count 2",
        'clusterset_doh_rejected_requests_total{status="400"} 1',
        'clusterset_doh_pushes_total{method="PUT",status="204"} 1',
        'clusterset_doh_pushes_total{method="PUT",status="401"} 1',
        "clusterset_doh_ready 1",
        "clusterset_doh_compiled_bytes 4096",
        "clusterset_doh_services 2",
        'clusterset_doh_cluster_live{cluster="cluster-a"} 1',
        'clusterset_doh_cluster_never_seen{cluster="i"} 1',
        'clusterset_doh_cluster_snapshot_age_seconds{cluster="cluster-a"} 60',
        'clusterset_doh_cluster_lease_remaining_seconds{cluster="cluster-b"} 27',
      ]),
    );
  }
});

test("/metrics count requests to the push API by the methods that it has, and all others together", async () => {
  const { app } = start();
  for (const method of ["PUT", "POST", "FOO1", "FOO2", "constructor"])
    await app.request("/api/v1/clusters/a/b", { method });
  const text = await (await app.request("/metrics")).text();
  expect(text.match(/^clusterset_doh_pushes_total.*$/gm)).toEqual([
    'clusterset_doh_pushes_total{method="PUT",status="404"} 1',
    'clusterset_doh_pushes_total{method="POST",status="404"} 1',
    'clusterset_doh_pushes_total{method="other",status="404"} 3',
  ]);
});

async function linesOf(gateway: StatusSource): Promise<string[]> {
  return (await secondaryMetrics({ gateway, clock: () => NOW }).render()).split("\n");
}

test("what is not known has no value, and a cluster that is gone has none either", async () => {
  const gateway = new FakeGateway();
  expect(await linesOf(gateway)).toContain(
    'clusterset_doh_cluster_lease_remaining_seconds{cluster="cluster-a"} 27',
  );
  gateway.state = { ...gateway.state, clusters: [], stateHash: "00000000002a0000" };
  const lines = await linesOf(gateway);
  expect(lines.filter((line) => line.startsWith("clusterset_doh_cluster_"))).toEqual([]);
  expect(lines.filter((line) => line.startsWith("clusterset_doh_log_position"))).toEqual([]);
  expect(lines).toContain("# TYPE clusterset_doh_log_position gauge");
  expect(lines).toContain("clusterset_doh_state_hash 42");
  gateway.state = { ...gateway.state, stateHash: undefined };
  expect((await linesOf(gateway)).filter((line) => line.startsWith("clusterset_doh_state_hash"))).toEqual([]);
});

test("conflicts and findings are counted by cluster and reason; a cluster cannot add series with made-up reasons", async () => {
  const gateway = new FakeGateway();
  const about = { namespace: "shop", name: "web", message: "m" };
  const conflict = (reason: string, ...disagree: string[]) => {
    const decided = { property: "type", winner: "a", value: "Headless", total: 3 };
    return { ...about, ...decided, reason, disagree };
  };
  const finding = (clusterId: string, reason: string) => ({ ...about, kind: "Service", clusterId, reason });
  gateway.objections = {
    conflicts: [
      conflict("TypeConflict", "b", "c.eu"),
      conflict("PortConflict", "b"),
      conflict("PortConflict", "b"),
    ],
    findings: [
      finding("a", "NameTooLong"),
      finding("b", "NameTooLong"),
      finding("b", "NameTooLong"),
      ...Array.from({ length: 500 }, (_, index) => finding("b", `Made"Up\n${index}`)),
    ],
  };
  const metrics = await linesOf(gateway);
  expect(metrics.filter((line) => /^clusterset_doh_(conflicts|findings)\{/.test(line))).toEqual([
    'clusterset_doh_conflicts{cluster="b",reason="TypeConflict"} 1',
    'clusterset_doh_conflicts{cluster="c.eu",reason="TypeConflict"} 1',
    'clusterset_doh_conflicts{cluster="b",reason="PortConflict"} 2',
    'clusterset_doh_findings{cluster="a",reason="NameTooLong"} 1',
    'clusterset_doh_findings{cluster="b",reason="NameTooLong"} 2',
    'clusterset_doh_findings{cluster="b",reason="other"} 500',
  ]);
});

test("a secondary says what it fetched, and what of it is in memory", async () => {
  const counters = new TransferCounters();
  counters.count("primary", 40_000);
  counters.count("primary", 500);
  counters.count("cache", 16_000);
  const transfer = { counters, memory: { bytes: 18_048 } };
  const sources = { gateway: new FakeGateway(), clock: () => NOW, transfer };
  const text = await secondaryMetrics(sources).render();
  expect(text.match(/^clusterset_doh_(transferred|part)_.*$/gm)).toEqual([
    'clusterset_doh_transferred_parts_total{from="primary"} 2',
    'clusterset_doh_transferred_parts_total{from="cache"} 1',
    'clusterset_doh_transferred_bytes_total{from="primary"} 40500',
    'clusterset_doh_transferred_bytes_total{from="cache"} 16000',
    "clusterset_doh_part_memory_bytes 18048",
  ]);
  expect(text).toContain("\n# TYPE clusterset_doh_transferred_parts_total counter\n");
});

function metric(
  type: MetricSnapshot["type"],
  name: string,
  of: Readonly<Record<string, number>>,
  aggregator: MergeRule = type === "gauge" ? "first" : "sum",
): MetricSnapshot {
  const values = Object.entries(of).map(([at, value]) => ({
    labels: at ? { at } : {},
    value,
    metricName: name,
  }));
  return { name, help: `${name}.`, type, aggregator, values };
}

const merge = (main: readonly MetricSnapshot[], ...threads: (readonly MetricSnapshot[])[]) =>
  mergeMetrics(main, threads);

test("metrics of several threads have the main thread's gauges, but for those with a rule", () => {
  const gauges = (value: number) => [
    metric("gauge", "clusterset_doh_services", { "": value }),
    metric("gauge", "clusterset_doh_cached_bytes", { "": value }, "sum"),
    metric("gauge", "clusterset_doh_upstream_up", { a: value % 2, b: 1 }, "min"),
    // A thread that has measured nothing yet changes no gauge.
    metric("gauge", "nodejs_eventloop_lag_p99_seconds", { "": value === 4 ? Number.NaN : value }, "max"),
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

test("counters add up by label, and do not go back when a thread ends", () => {
  const thread = (values: Readonly<Record<string, number>>) => [
    metric("counter", "n_total", values),
    metric("gauge", "clusterset_doh_cached_bytes", { "": 1 }, "sum"),
  ];
  const all = (metrics: readonly MetricSnapshot[]) =>
    metrics[0]!.values.map(({ labels, value }) => [labels.at, value]);
  const [main, ends, other] = [thread({ a: 1, b: 10 }), thread({ a: 2, c: 3 }), thread({ a: 4, c: 5 })];
  const expected = Object.entries({ a: 7, b: 10, c: 8 });
  expect(all(merge(main, ends, other))).toEqual(expected);
  const ended = countersOf(ends);
  expect(all(merge(main, other, ended))).toEqual(expected);
  expect(ended.map(({ name }) => name)).toEqual(["n_total"]);
});

test("each gauge of Node.js has a rule, and those of the gateway are the main thread's but for four", async () => {
  const { forwarder } = fakeForwarder({});
  const sources = { gateway: new FakeGateway(), counters: new QueryCounters(), clock: () => NOW, forwarder };
  const metrics = await withNodeMetrics(() => readMetrics(sources)).snapshot();
  const rules = Object.groupBy(metrics, ({ aggregator }) => aggregator);
  const names = (rule: keyof typeof rules) =>
    rules[rule]!.filter(({ type }) => type === "gauge").map(({ name }) => name);
  const ofNode = (rule: keyof typeof rules) => names(rule).filter((name) => name.startsWith("nodejs_"));
  expect([names("max").length, ofNode("min"), ofNode("first")]).toEqual([
    7,
    ["nodejs_eventloop_lag_min_seconds"],
    ["nodejs_version_info"],
  ]);
  const added = names("sum").flatMap((name) => /^clusterset_doh_(.*)/.exec(name)?.[1] ?? []);
  expect(added).toEqual(["compiled_bytes", "cached_answers", "cached_bytes"]);
  expect(names("min")).toContain("clusterset_doh_upstream_up");
});

test("a snapshot has values that are no ordinary numbers, text that must be escaped, and histograms, as prom-client writes them", async () => {
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
});
