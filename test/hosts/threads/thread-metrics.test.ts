import { describe, expect, it } from "vitest";
import { ThreadMetrics } from "../../../src/hosts/node/threads/thread-metrics.ts";
import type { MetricSnapshot, SnapshotSource } from "../../../src/http/metrics/metric.ts";

function start(main: SnapshotSource["snapshot"], thread: SnapshotSource["snapshot"], timeout = 60_000) {
  const all = new ThreadMetrics(
    { contentType: "text/plain", render: () => Promise.resolve("its own"), snapshot: main },
    timeout,
  );
  return { all, ended: all.add(thread) };
}

const count = (name: string, value: number, type: MetricSnapshot["type"] = "counter"): MetricSnapshot => ({
  name,
  type,
  // Each thread has a cache of its own.
  aggregator: "sum",
  help: "N.",
  values: [{ labels: {}, value }],
});
const textOf = (name: string, value: number, type = "counter") =>
  `# HELP ${name} N.\n# TYPE ${name} ${type}\n${name} ${value}\n`;

describe("a scrape", () => {
  it("goes on without gauges of a thread that has no metrics, or not in time", async () => {
    const name = "clusterset_doh_cached_bytes";
    const answers: (() => Promise<MetricSnapshot[]>)[] = [
      async () => [count(name, 5, "gauge"), count("n_total", 3)],
      async () => Promise.reject(new Error("broken")),
      () => new Promise(() => {}),
    ];
    const { all } = start(
      async () => [count(name, 1, "gauge")],
      () => answers.shift()!(),
      20,
    );
    expect(await all.render()).toBe(`${textOf(name, 6, "gauge")}\n${textOf("n_total", 3)}`);
    for (const _ of [0, 1])
      expect(await all.render()).toBe(`${textOf(name, 1, "gauge")}\n${textOf("n_total", 3)}`);
  });

  it("has the counters of a thread once that ends meanwhile, or ended before", async () => {
    const { promise: exited, reject: exit } = Promise.withResolvers<MetricSnapshot[]>();
    const answers = [Promise.resolve([count("n_total", 2)]), exited];
    const { all, ended } = start(
      async () => [count("n_total", 1)],
      () => answers.shift()!,
    );
    expect(await all.render()).toBe(textOf("n_total", 3));
    const text = all.render();
    ended();
    exit(new Error("the thread ended"));
    expect(await text).toBe(textOf("n_total", 3));
    expect(await all.render()).toBe(textOf("n_total", 3));
  });
});
