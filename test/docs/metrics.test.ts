import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { QueryCounters } from "../../src/answer/query-counters.ts";
import { AccessCounters } from "../../src/http/metrics/access-counters.ts";
import { createPrometheusMetrics } from "../../src/http/metrics/prometheus.ts";
import { fakeForwarder } from "../forward/fake-forwarder.ts";
import { FakeGateway, NOW } from "../http/fake-gateway.ts";

const page = readFileSync(new URL("../../docs/reference/metrics.md", import.meta.url), "utf8");

/** What `/metrics` says where everything is switched on. */
const exported = await createPrometheusMetrics(
  new FakeGateway(),
  new QueryCounters(),
  () => NOW,
  fakeForwarder({}).forwarder,
  new AccessCounters(),
).render();

/** Rows of the table of metrics: name, type and labels. */
const documented = page
  .split("\n")
  .filter((line) => line.startsWith("| `clusterset_doh_") && line.split("|").length === 6)
  .map((line) => {
    const [name, type] = line.slice(2, -2).split(/\s*\|\s*/);
    return `${name!.replaceAll("`", "")} ${type}`;
  });

it("docs/reference/metrics.md has every metric with its type, and no other", () => {
  const types = [...exported.matchAll(/^# TYPE (clusterset_doh_\w+) (\w+)/gm)];
  expect(documented.sort()).toEqual(types.map(([, name, type]) => `${name} ${type}`).sort());
});
