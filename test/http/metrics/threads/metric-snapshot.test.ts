import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { formatMetrics } from "../../../../src/http/metrics/metric.ts";
import { snapshotOf } from "../../../../src/http/metrics/node-metrics.ts";

describe("a snapshot of metrics", () => {
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
