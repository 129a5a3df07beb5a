import { expect, test } from "vitest";
import { QueryCounters } from "../../../src/answer/query-counters.ts";
import { createPrometheusMetrics } from "../../../src/http/metrics/prometheus.ts";
import type { StatusSource } from "../../../src/http/metrics/status.ts";
import { createStatusMetrics } from "../../../src/http/metrics/status.ts";
import { TransferCounters } from "../../../src/transfer/transfer-state.ts";
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

test("conflicts and findings are counted by cluster and reason", async () => {
  const gateway = new FakeGateway();
  const service = { namespace: "shop", name: "web" };
  const conflict = { ...service, property: "type", winner: "a", value: "Headless", total: 3, message: "m" };
  const found = { ...service, kind: "Service", message: "m" };
  gateway.objections = {
    conflicts: [
      { ...conflict, reason: "TypeConflict", disagree: ["b", "c.eu"] },
      { ...conflict, reason: "PortConflict", disagree: ["b"] },
      { ...conflict, reason: "PortConflict", property: "ports", disagree: ["b"] },
    ],
    findings: [
      { ...found, clusterId: "a", reason: "NameTooLong" },
      { ...found, clusterId: "b", reason: "NameTooLong" },
      { ...found, clusterId: "b", reason: "NameTooLong", name: "db" },
    ],
  };
  const metrics = (await bySelf(gateway)).join("\n").split("\n");
  expect(metrics.filter((line) => /^clusterset_doh_(conflicts|findings)\{/.test(line))).toEqual([
    'clusterset_doh_conflicts{cluster="b",reason="TypeConflict"} 1',
    'clusterset_doh_conflicts{cluster="c.eu",reason="TypeConflict"} 1',
    'clusterset_doh_conflicts{cluster="b",reason="PortConflict"} 2',
    'clusterset_doh_findings{cluster="a",reason="NameTooLong"} 1',
    'clusterset_doh_findings{cluster="b",reason="NameTooLong"} 2',
  ]);
  expect(await byPromClient(gateway)).toEqual(await bySelf(gateway));
});

test("a cluster cannot add series with reasons of its own choice", async () => {
  const gateway = new FakeGateway();
  const findings = Array.from({ length: 500 }, (_, index) => ({
    clusterId: "b",
    reason: `Made"Up\n${index}`,
    kind: "Service",
    name: `n${index}`,
    message: "m",
  }));
  gateway.objections = { conflicts: [], findings };
  const metrics = (await bySelf(gateway)).join("\n");
  expect(metrics.match(/^clusterset_doh_findings\{.*$/gm)).toEqual([
    'clusterset_doh_findings{cluster="b",reason="other"} 500',
  ]);
});

test("damaged rows are counted", async () => {
  const gateway = Object.assign(new FakeGateway(), { damage: { count: 2 } });
  const text = await createPrometheusMetrics(gateway, new QueryCounters(), () => NOW).render();
  expect(text).toContain("\nclusterset_doh_damaged_rows_total 2\n");
});

test("a secondary's status is written as prom-client writes it, stale or not", async () => {
  const clusters = [cluster("west"), cluster("east.eu", { live: false, expiresAt: NOW - 500 })];
  const status = { ready: true, stateHash: "ab", compiledBytes: 4096, services: 2, clusters };
  for (const state of [status, { ...status, staleSince: NOW - 7250 }]) {
    const secondary = { status: () => state };
    expect(await bySelf(secondary)).toEqual(await byPromClient(secondary));
  }
  const stale = { status: () => ({ ...status, staleSince: NOW - 7250 }) };
  expect((await bySelf(stale)).join("\n")).toContain("\nclusterset_doh_stale_seconds 7.25\n");
});

test("a secondary says what it fetched, and what of it is in memory", async () => {
  const counters = new TransferCounters();
  counters.count("primary", 40_000);
  counters.count("primary", 500);
  counters.count("cache", 16_000);
  const memory = { bytes: 18_048 };
  const text = await createStatusMetrics(new FakeGateway(), () => NOW, { counters, memory }).render();
  expect(text.match(/^clusterset_doh_(transferred|part)_.*$/gm)).toEqual([
    'clusterset_doh_transferred_parts_total{from="primary"} 2',
    'clusterset_doh_transferred_parts_total{from="cache"} 1',
    'clusterset_doh_transferred_bytes_total{from="primary"} 40500',
    'clusterset_doh_transferred_bytes_total{from="cache"} 16000',
    "clusterset_doh_part_memory_bytes 18048",
  ]);
  expect(text).toContain("\n# TYPE clusterset_doh_transferred_parts_total counter\n");
});
