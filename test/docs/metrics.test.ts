import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { QueryCounters } from "../../src/answer/query-counters.ts";
import { createWorkerMetrics } from "../../src/hosts/node/worker/worker-metrics.ts";
import { AccessCounters } from "../../src/http/metrics/access-counters.ts";
import { createPrometheusMetrics } from "../../src/http/metrics/prometheus.ts";
import { createStatusMetrics } from "../../src/http/metrics/status-metrics.ts";
import { DamageCounters } from "../../src/store/damage-counters.ts";
import { SegmentCache } from "../../src/transfer/parts/segment-cache.ts";
import { TransferCounters } from "../../src/transfer/parts/transfer-counters.ts";
import { fakeForwarder } from "../forward/fake-forwarder.ts";
import { FakeGateway, NOW } from "../http/fake-gateway.ts";

const page = readFileSync(new URL("../../docs/reference/metrics.md", import.meta.url), "utf8");

/** What `/metrics` says on a primary where everything is switched on. */
const ofPrimary = await createPrometheusMetrics(
  Object.assign(new FakeGateway(), { damage: new DamageCounters() }),
  new QueryCounters(),
  () => NOW,
  fakeForwarder({}).forwarder,
  new AccessCounters(),
).render();

/** What it says on a secondary. */
const ofSecondary = await createStatusMetrics(
  {
    status: () => {
      const { conflicts: _, findings: __, ...status } = new FakeGateway().status();
      return status;
    },
  },
  () => NOW,
  { counters: new TransferCounters(), cache: new SegmentCache(1) },
).render();

/** What it says on a sync worker. */
const ofWorker = await createWorkerMetrics(() => ({
  ...{ complete: true, confirmedSeconds: 1, degraded: [], gateways: [] },
})).render();

/** Rows of the tables of metrics: name, type and labels. */
const documented = page
  .split("\n")
  .filter((line) => line.startsWith("| `clusterset_doh_") && line.split("|").length === 6)
  .map((line) => {
    const [name, type] = line.slice(2, -2).split(/\s*\|\s*/);
    return `${name!.replaceAll("`", "")} ${type}`;
  });

it("docs/reference/metrics.md has every metric with its type, and no other", () => {
  const types = `${ofPrimary}\n${ofSecondary}\n${ofWorker}`.matchAll(/^# TYPE (clusterset_doh_\w+) (\w+)/gm);
  const exported = new Set(Array.from(types, ([, name, type]) => `${name} ${type}`));
  expect(documented.sort()).toEqual([...exported].sort());
});

it("the alerts name metrics and labels that exist", () => {
  const [, text] = /```yaml\n(groups:.*?)```/s.exec(page)!;
  const { groups } = parse(text!) as {
    groups: { rules: { expr: string; annotations: { summary: string } }[] }[];
  };
  const rules = groups.flatMap(({ rules: some }) => some);
  expect(rules.length).toBeGreaterThan(3);
  for (const { expr, annotations } of rules) {
    const name = /clusterset_doh_\w+/.exec(expr)?.[0];
    const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));
    expect(row, expr).toBeDefined();
    const shown = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label!);
    for (const label of shown)
      expect(label === "instance" || row!.includes(`\`${label}\``), label).toBe(true);
  }
});
