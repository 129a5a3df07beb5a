import { Counter, Gauge, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { QueryCounters } from "../../../../src/answer/query-counters.ts";
import { AccessCounters } from "../../../../src/http/metrics/counts.ts";
import { createPrometheusMetrics } from "../../../../src/http/metrics/prometheus.ts";
import { formatMetrics, snapshotOf } from "../../../../src/http/metrics/threads.ts";
import { fakeForwarder } from "../../../forward/fake-forwarder.ts";
import { FakeGateway, NOW } from "../../fake-gateway.ts";

/** Without the values of the process, which change from one reading to the next. */
const ofGateway = (text: string) => text.split("\n").filter((line) => !/\b(?:process|nodejs)_/.test(line));
const namesIn = (text: string) => text.split("\n").filter((line) => line.startsWith("# "));

describe("a snapshot of metrics", () => {
  it("has the same text as the metrics themselves", async () => {
    const counters = new QueryCounters();
    const { forwarder } = fakeForwarder({});
    const access = new AccessCounters();
    counters.answered(new Uint8Array(12), "answer", true, 0.00002);
    counters.pushed("PUT", 200);
    access.admitted("public");
    forwarder.counters.exchanged("192.0.2.53", 12, undefined);
    const metrics = createPrometheusMetrics(new FakeGateway(), counters, () => NOW, forwarder, access);
    const text = formatMetrics(structuredClone(await metrics.snapshot()));
    const rendered = await metrics.render();
    expect(ofGateway(text)).toEqual(ofGateway(rendered));
    expect(namesIn(text)).toEqual(namesIn(rendered));
    expect(text).toContain(
      'clusterset_doh_upstream_duration_seconds_bucket{upstream="192.0.2.53",le="0.025"} 1',
    );
  });

  it("has values that are no ordinary numbers, and text that must be escaped, as Prometheus reads them", async () => {
    const registers = [new Registry()];
    const labelNames = ["at"];
    const gauge = new Gauge({ name: "odd", help: 'a "line"\nand \\ more', labelNames, registers });
    gauge.set({ at: "nan" }, Number.NaN);
    gauge.set({ at: "high" }, Number.POSITIVE_INFINITY);
    gauge.set({ at: "low" }, Number.NEGATIVE_INFINITY);
    gauge.set({ at: 'a "b"\n\\c' }, 1.5);
    new Counter({ name: "none_total", help: "None.", labelNames, registers });
    expect(formatMetrics(await snapshotOf(registers[0]!)).split("\n")).toEqual([
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
});
