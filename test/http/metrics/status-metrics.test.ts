import { expect, test } from "vitest";
import { QueryCounters } from "../../../src/answer/query-counters.ts";
import { createPrometheusMetrics } from "../../../src/http/metrics/prometheus.ts";
import type { StatusSource } from "../../../src/http/metrics/status-gauges.ts";
import { createStatusMetrics } from "../../../src/http/metrics/status-metrics.ts";
import { DamageCounters } from "../../../src/store/damage-counters.ts";
import { SegmentCache } from "../../../src/transfer/parts/segment-cache.ts";
import { TransferCounters } from "../../../src/transfer/parts/transfer-counters.ts";
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
  gateway.state = {
    ...gateway.state,
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
  gateway.state = { ...gateway.state, findings };
  const metrics = (await bySelf(gateway)).join("\n");
  expect(metrics.match(/^clusterset_doh_findings\{.*$/gm)).toEqual([
    'clusterset_doh_findings{cluster="b",reason="other"} 500',
  ]);
});

test("damaged records are counted by the part of the store", async () => {
  const damage = new DamageCounters();
  for (const code of ["CORRUPT_SNAPSHOT", "CORRUPT_JOURNAL", "CORRUPT_JOURNAL", "LEFTOVER"] as const)
    damage.count({ code });
  const gateway = Object.assign(new FakeGateway(), { damage });
  const text = await createPrometheusMetrics(gateway, new QueryCounters(), () => NOW).render();
  expect(text.match(/^clusterset_doh_damaged_records_total\{.*$/gm)).toEqual([
    'clusterset_doh_damaged_records_total{part="snapshot"} 1',
    'clusterset_doh_damaged_records_total{part="journal"} 2',
    'clusterset_doh_damaged_records_total{part="cluster"} 0',
    'clusterset_doh_damaged_records_total{part="memory"} 0',
    'clusterset_doh_damaged_records_total{part="memory-lost"} 0',
  ]);
});

test("a secondary's status is written as prom-client writes it, stale or not", async () => {
  const clusters = [cluster("west"), cluster("east.eu", { live: false, expiresAt: NOW - 500 })];
  const status = { ready: true, rootHash: "ab", generationBytes: 4096, services: 2, clusters };
  for (const state of [status, { ...status, staleSince: NOW - 7250 }]) {
    const secondary = { status: () => state };
    expect(await bySelf(secondary)).toEqual(await byPromClient(secondary));
  }
  const stale = { status: () => ({ ...status, staleSince: NOW - 7250 }) };
  expect((await bySelf(stale)).join("\n")).toContain("\nclusterset_doh_stale_seconds 7.25\n");
});

test("a secondary says what it fetched, and what of it is in memory", async () => {
  const counters = new TransferCounters();
  counters.count("primary", 3, 40_000);
  counters.count("primary", 0, 500);
  counters.count("cache", 1, 16_000);
  const cache = new SegmentCache(20_000);
  for (const hash of ["a", "b"]) cache.add({ hash, bytes: { length: 16_000 } });
  for (const hash of ["a", "b", "b", "b"]) cache.get(hash);
  const text = await createStatusMetrics(new FakeGateway(), () => NOW, { counters, cache }).render();
  expect(text.match(/^clusterset_doh_(transferred|segment_cache)_.*$/gm)).toEqual([
    'clusterset_doh_transferred_segments_total{from="primary"} 3',
    'clusterset_doh_transferred_segments_total{from="cache"} 1',
    'clusterset_doh_transferred_bytes_total{from="primary"} 40500',
    'clusterset_doh_transferred_bytes_total{from="cache"} 16000',
    "clusterset_doh_segment_cache_hits_total 3",
    "clusterset_doh_segment_cache_misses_total 1",
    "clusterset_doh_segment_cache_evictions_total 1",
    "clusterset_doh_segment_cache_bytes 18048",
  ]);
  expect(text).toContain("\n# TYPE clusterset_doh_segment_cache_hits_total counter\n");
});

test("a secondary that has all segments in memory has no cache of them to speak of", async () => {
  const transfer = { counters: new TransferCounters() };
  const text = await createStatusMetrics(new FakeGateway(), () => NOW, transfer).render();
  expect(text).toContain('clusterset_doh_transferred_segments_total{from="primary"} 0\n');
  expect(text).not.toContain("segment_cache");
});
