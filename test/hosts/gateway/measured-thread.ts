import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { QueryCounters } from "../../../src/answer/query-counters.ts";
import { measureThread } from "../../../src/hosts/node/gateway/thread-metrics.ts";
import { createPrometheusMetrics } from "../../../src/http/metrics/prometheus.ts";
import { FakeGateway, NOW } from "../../http/fake-gateway.ts";

/** What the test asks of a thread. */
export type ThreadOrder =
  /** Count so many rejected requests. */
  | { readonly reject: number }
  /** Answer nothing more, not even the main thread. */
  | "hang";

const { port } = workerData as { port: MessagePort };
const counters = new QueryCounters();
measureThread(
  port,
  createPrometheusMetrics(new FakeGateway(), counters, () => NOW),
);
parentPort!.on("message", (order: ThreadOrder) => {
  if (order === "hang") {
    parentPort!.postMessage("hangs");
    for (;;);
  }
  for (let times = 0; times < order.reject; times++) counters.rejected(400);
  parentPort!.postMessage("done");
});
