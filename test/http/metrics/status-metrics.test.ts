import { expect, test } from "vitest";
import type { StatusSource } from "../../../src/http/metrics/status.ts";
import { secondaryMetrics } from "../../../src/http/metrics/table.ts";
import { TransferCounters } from "../../../src/transfer/transfer-state.ts";
import { FakeGateway, NOW } from "../fake-gateway.ts";

async function linesOf(gateway: StatusSource): Promise<string[]> {
  return (await secondaryMetrics({ gateway, clock: () => NOW }).render()).split("\n");
}

test("what is not known has no value, and a cluster that is gone has none either", async () => {
  const gateway = new FakeGateway();
  expect(await linesOf(gateway)).toContain(
    'clusterset_doh_cluster_lease_remaining_seconds{cluster="cluster-a"} 27',
  );
  gateway.state = { ...gateway.state, clusters: [] };
  const lines = await linesOf(gateway);
  expect(lines.filter((line) => line.startsWith("clusterset_doh_cluster_"))).toEqual([]);
  expect(lines.filter((line) => line.startsWith("clusterset_doh_log_position"))).toEqual([]);
  expect(lines).toContain("# TYPE clusterset_doh_log_position gauge");
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
  const metrics = await linesOf(gateway);
  expect(metrics.filter((line) => /^clusterset_doh_(conflicts|findings)\{/.test(line))).toEqual([
    'clusterset_doh_conflicts{cluster="b",reason="TypeConflict"} 1',
    'clusterset_doh_conflicts{cluster="c.eu",reason="TypeConflict"} 1',
    'clusterset_doh_conflicts{cluster="b",reason="PortConflict"} 2',
    'clusterset_doh_findings{cluster="a",reason="NameTooLong"} 1',
    'clusterset_doh_findings{cluster="b",reason="NameTooLong"} 2',
  ]);
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
  const metrics = await linesOf(gateway);
  expect(metrics.filter((line) => line.startsWith("clusterset_doh_findings{"))).toEqual([
    'clusterset_doh_findings{cluster="b",reason="other"} 500',
  ]);
});

test("a secondary says for how long it is stale", async () => {
  const status = { ready: true, stateHash: "ab", compiledBytes: 4096, services: 2, clusters: [] };
  expect(await linesOf({ status: () => status })).toContain("clusterset_doh_stale_seconds 0");
  const stale = await linesOf({ status: () => ({ ...status, staleSince: NOW - 7250 }) });
  expect(stale).toContain("clusterset_doh_stale_seconds 7.25");
});

test("a secondary says what it fetched, and what of it is in memory", async () => {
  const counters = new TransferCounters();
  counters.count("primary", 40_000);
  counters.count("primary", 500);
  counters.count("cache", 16_000);
  const memory = { bytes: 18_048 };
  const text = await secondaryMetrics({
    gateway: new FakeGateway(),
    clock: () => NOW,
    transfer: { counters, memory },
  }).render();
  expect(text.match(/^clusterset_doh_(transferred|part)_.*$/gm)).toEqual([
    'clusterset_doh_transferred_parts_total{from="primary"} 2',
    'clusterset_doh_transferred_parts_total{from="cache"} 1',
    'clusterset_doh_transferred_bytes_total{from="primary"} 40500',
    'clusterset_doh_transferred_bytes_total{from="cache"} 16000',
    "clusterset_doh_part_memory_bytes 18048",
  ]);
  expect(text).toContain("\n# TYPE clusterset_doh_transferred_parts_total counter\n");
});
