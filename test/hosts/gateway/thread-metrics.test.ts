import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/query-counters.ts";
import { measureThread, ThreadMetrics } from "../../../src/hosts/node/gateway/thread-metrics.ts";
import type { SnapshotSource } from "../../../src/http/metrics/metrics-source.ts";
import { createPrometheusMetrics } from "../../../src/http/metrics/prometheus.ts";
import type { MetricSnapshot } from "../../../src/http/metrics/threads/metric-snapshot.ts";
import { FakeGateway, NOW } from "../../http/fake-gateway.ts";
import type { ThreadOrder } from "./measured-thread.ts";

const workers: Worker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
});

/** The value of a series in the text for Prometheus. */
const valueIn = (text: string, series: string) =>
  text.split("\n").flatMap((line) => (line.startsWith(`${series} `) ? [Number(line.split(" ")[1])] : []));
const REJECTED = 'clusterset_doh_rejected_requests_total{status="400"}';

function startThread(all: ThreadMetrics) {
  const { port1, port2 } = new MessageChannel();
  const script = new URL("./measured-thread.ts", import.meta.url);
  const worker = new Worker(script, { workerData: { port: port2 }, transferList: [port2] });
  workers.push(worker);
  const ended = all.add(port1);
  const order = async (what: ThreadOrder) => {
    worker.postMessage(what);
    await once(worker, "message");
  };
  return { worker, order, ended };
}

describe("the metrics of threads", () => {
  it("are those of the process, also after one ended and another took its place", async () => {
    const counters = new QueryCounters();
    const all = new ThreadMetrics(
      createPrometheusMetrics(new FakeGateway(), counters, () => NOW),
      60_000,
    );
    const [one, other] = [startThread(all), startThread(all)];
    counters.rejected(400);
    await one.order({ reject: 10 });
    await other.order({ reject: 100 });

    const text = await all.render();
    expect(valueIn(text, REJECTED)).toEqual([111]);
    expect(valueIn(text, "clusterset_doh_services")).toEqual([new FakeGateway().status().services]);
    const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const names = series.map((line) => line.slice(0, line.lastIndexOf(" ")));
    expect(new Set(names).size).toBe(names.length);

    await other.worker.terminate();
    other.ended();
    other.ended();
    expect(valueIn(await all.render(), REJECTED)).toEqual([111]);
    const next = startThread(all);
    await next.order({ reject: 1000 });
    expect(valueIn(await all.render(), REJECTED)).toEqual([1111]);
  });

  it("that hang are those of its last answer, and others do not wait for it", async () => {
    const all = new ThreadMetrics(
      createPrometheusMetrics(new FakeGateway(), new QueryCounters(), () => NOW),
      500,
    );
    const { order } = startThread(all);
    await order({ reject: 10 });
    // The thread starts while the scrape waits for it.
    while (valueIn(await all.render(), REJECTED)[0] !== 10);
    await order({ reject: 5 });
    await order("hang");
    expect(valueIn(await all.render(), REJECTED)).toEqual([10]);
  });
});

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
  ...{ name, type, help: "N." },
  samples: [{ name, labels: {}, value }],
});
const textOf = (name: string, value: number, type = "counter") =>
  `# HELP ${name} N.\n# TYPE ${name} ${type}\n${name} ${value}\n`;

describe("a scrape", () => {
  it("collects once for all scrapes at the same time", async () => {
    let collections = 0;
    const { all } = connect(
      async () => [count("n_total", 1)],
      async () => [count("n_total", ++collections)],
    );
    const texts = await Promise.all([all.render(), all.render()]);
    expect(texts).toEqual([textOf("n_total", 2), textOf("n_total", 2)]);
    expect([await all.render(), all.contentType]).toEqual([textOf("n_total", 3), "text/plain"]);
  });

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

  it("fails where the main thread has no metrics, and the next one does not", async () => {
    const answers = [
      async () => {
        throw new Error("no memory");
      },
      async () => [count("n_total", 1)],
    ];
    const { all } = connect(
      () => answers.shift()!(),
      async () => [],
    );
    await expect(all.render()).rejects.toThrow("no memory");
    expect(await all.render()).toBe(textOf("n_total", 1));
  });
});
