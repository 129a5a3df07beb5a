import { MessageChannel } from "node:worker_threads";
import { describe, expect, it, vi } from "vitest";
import { measureThread, ThreadMetrics } from "../../../src/hosts/node/threads/thread-metrics.ts";
import type { MetricSnapshot, SnapshotSource } from "../../../src/http/metrics/metric.ts";

/** Two ends in this thread, with metrics that the test sets. */
function connect(main: SnapshotSource["snapshot"], thread: SnapshotSource["snapshot"], timeout = 60_000) {
  const { port1, port2 } = new MessageChannel();
  const shared = { contentType: "text/plain", render: () => Promise.resolve("its own") };
  const all = new ThreadMetrics({ ...shared, snapshot: main }, timeout);
  const ended = all.add(port1);
  measureThread(port2, { ...shared, snapshot: thread });
  return { all, ended };
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
  it("goes on without a thread that has no metrics, and without gauges of one that does not answer", async () => {
    const name = "clusterset_doh_cached_bytes";
    let isBroken = false;
    const { all } = connect(
      async () => [count(name, 1, "gauge")],
      async () => {
        if (isBroken) throw new Error("broken");
        return [count(name, 5, "gauge")];
      },
      500,
    );
    // A busy machine may not answer in time either.
    while ((await all.render()) !== textOf(name, 6, "gauge"));
    isBroken = true;
    expect(await all.render()).toBe(textOf(name, 1, "gauge"));
  });

  it("does not wait for a thread that ends meanwhile", async () => {
    const { all, ended } = connect(
      async () => [count("n_total", 1)],
      () => new Promise(() => {}),
    );
    const text = all.render();
    ended();
    expect(await text).toBe(textOf("n_total", 1));
  });

  it("collects once for all at the same time, and fails where the main thread has no metrics, as the next one does not", async () => {
    const fails = vi.fn(async () => [count("n_total", 1)]).mockRejectedValueOnce(new Error("no memory"));
    const { all } = connect(fails, async () => [count("n_total", fails.mock.calls.length)]);
    await expect(all.render()).rejects.toThrow("no memory");
    const texts = await Promise.all([all.render(), all.render()]);
    expect([...texts, all.contentType]).toEqual([textOf("n_total", 3), textOf("n_total", 3), "text/plain"]);
  });
});
