import { expect, test } from "vitest";
import { QueryCounters } from "../../../src/answer/query-counters.ts";
import { createPrometheusMetrics } from "../../../src/http/metrics/prometheus.ts";
import type { StatusSource } from "../../../src/http/metrics/status-gauges.ts";
import { createStatusMetrics } from "../../../src/http/metrics/status-metrics.ts";
import { cluster, FakeGateway, NOW } from "../fake-gateway.ts";

/** The metrics of a gateway's status as prom-client writes them. */
async function byPromClient(gateway: StatusSource): Promise<string[]> {
  const text = await createPrometheusMetrics(gateway, new QueryCounters(), () => NOW).render();
  return text
    .trimEnd()
    .split("\n\n")
    .filter((metric) => /^# HELP clusterset_doh_\S+ .*\n# TYPE \S+ gauge/.test(metric));
}

async function bySelf(gateway: StatusSource): Promise<string[]> {
  const text = await createStatusMetrics(gateway, () => NOW).render();
  expect(text.endsWith("\n")).toBe(true);
  return text.trimEnd().split("\n\n");
}

test("a gateway's status is written as prom-client writes it", async () => {
  const gateway = new FakeGateway();
  const metrics = await bySelf(gateway);
  expect(metrics).toEqual(await byPromClient(gateway));
  expect(metrics.join("\n")).toContain(
    'clusterset_doh_cluster_lease_remaining_seconds{cluster="cluster-a"} 27',
  );
  gateway.state = { ...gateway.state, clusters: [] };
  expect(await bySelf(gateway)).toEqual(await byPromClient(gateway));
});

test("and a secondary's, stale or not", async () => {
  const clusters = [cluster("west"), cluster("east.eu", { live: false, expiresAt: NOW - 500 })];
  const status = { ready: true, imageHash: "ab", imageBytes: 4096, services: 2, clusters };
  for (const state of [status, { ...status, staleSince: NOW - 7250 }]) {
    const secondary = { status: () => state };
    expect(await bySelf(secondary)).toEqual(await byPromClient(secondary));
  }
  const stale = { status: () => ({ ...status, staleSince: NOW - 7250 }) };
  expect((await bySelf(stale)).join("\n")).toContain("\nclusterset_doh_stale_seconds 7.25\n");
});
