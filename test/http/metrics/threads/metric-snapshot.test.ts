import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { AccessCounters, QueryCounters } from "../../../../src/answer/query-counters.ts";
import { formatMetrics } from "../../../../src/http/metrics/metric.ts";
import { snapshotOf, withNodeMetrics } from "../../../../src/http/metrics/node-metrics.ts";
import { readMetrics } from "../../../../src/http/metrics/table.ts";
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
    counters.answered(new Uint8Array(12), "answer", true, "https", performance.now());
    counters.pushed("PUT", 200);
    access.admitted("public");
    forwarder.counters.exchanged("192.0.2.53", 12, undefined);
    const sources = { gateway: new FakeGateway(), counters, clock: () => NOW, forwarder, access };
    const metrics = withNodeMetrics(() => readMetrics(sources));
    const text = formatMetrics(structuredClone(await metrics.snapshot()));
    const rendered = await metrics.render();
    expect(ofGateway(text)).toEqual(ofGateway(rendered));
    expect(namesIn(text)).toEqual(namesIn(rendered));
    expect(text).toContain(
      'clusterset_doh_upstream_duration_seconds_bucket{upstream="192.0.2.53",le="0.025"} 1',
    );
  });

  it("has values that are no ordinary numbers, text that must be escaped, and histograms, as prom-client writes them", async () => {
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
});
