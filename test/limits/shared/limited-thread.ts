import { parentPort, workerData } from "node:worker_threads";
import { openLimits, processClock } from "../../../src/hosts/node/gateway/shared-limits.ts";
import type { SharedLimitMemory } from "../../../src/limits/shared/shared-limits.ts";

/** What a thread of the test gets. */
export interface LimitedThreadData {
  readonly memory: SharedLimitMemory;
  readonly thread: number;
  /** Not 0 when all threads begin. */
  readonly begins: Int32Array;
  readonly attempts: number;
  readonly burst: number;
  readonly most: number;
}

/** What it got of the limits. */
export interface LimitedThreadResult {
  readonly tokens: number;
  readonly requests: number;
  readonly connections: number;
  /** The clock of the process, as this thread reads it. */
  readonly clock: number;
}

const { memory, thread, begins, attempts, burst, most } = workerData as LimitedThreadData;
const limits = openLimits(memory, thread);
// So slow that the test sees the burst alone.
const buckets = limits.buckets("requests", { perSecond: 0.001, burst });
const requests = limits.count("requests");
const clients = limits.clients("https");
parentPort!.postMessage("ready");
Atomics.wait(begins, 0, 0);
const got = { tokens: 0, requests: 0, connections: 0 };
for (let attempt = 0; attempt < attempts; attempt++) {
  if (buckets.take("4/192.0.2.1") === 0) got.tokens++;
  if (requests.begin(most)) got.requests++;
  const slot = clients.begin("4/192.0.2.1");
  if (clients.totalOf(slot) > most) clients.end(slot);
  else got.connections++;
}
parentPort!.postMessage({ ...got, clock: processClock()() } satisfies LimitedThreadResult);
// It keeps what it has until the test ends it.
Atomics.wait(begins, 0, 1);
