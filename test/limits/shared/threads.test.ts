import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { ServeConfig } from "../../../src/config/serve-config.ts";
import { allocateLimits, openLimits, processClock } from "../../../src/hosts/node/gateway/shared-limits.ts";
import type { LimitedThreadData, LimitedThreadResult } from "./limited-thread.ts";

const ATTEMPTS = 20_000;
const BURST = 5000;
const MOST = 3000;

/** The clocks of two threads are read one after the other, in milliseconds. */
const READING = 5;

/** Two threads that use the same limits at the same time, for the same client. */
async function startThreads() {
  // Thread 0 is the one of the test.
  const memory = allocateLimits(ServeConfig.parse({}), 3);
  const begins = new Int32Array(new SharedArrayBuffer(4));
  const workers = [1, 2].map((thread) => {
    const workerData: LimitedThreadData = {
      ...{ memory, thread, begins },
      ...{ attempts: ATTEMPTS, burst: BURST, most: MOST },
    };
    return new Worker(new URL("./limited-thread.ts", import.meta.url), { workerData });
  });
  await Promise.all(workers.map((worker) => once(worker, "message")));
  const results = workers.map((worker) => once(worker, "message"));
  Atomics.store(begins, 0, 1);
  Atomics.notify(begins, 0);
  const [one, other] = (await Promise.all(results)).map(([result]) => result as LimitedThreadResult);
  return { limits: openLimits(memory, 0), workers, one: one!, other: other! };
}

it("two threads have one limit on a client and on all clients, and one that ended has no part in it", async () => {
  const clock = processClock();
  const began = clock();
  const { limits, workers, one, other } = await startThreads();
  try {
    // Buckets are filled in by a clock that does not begin with the thread.
    for (const { clock: seen } of [one, other]) {
      expect(seen).toBeGreaterThan(began - READING);
      expect(seen).toBeLessThan(clock() + READING);
    }

    const [requests, clients] = [limits.count("requests"), limits.clients("https")];
    const slot = clients.begin("4/192.0.2.1");
    clients.end(slot);

    // Tokens: exactly the burst, however the threads took turns.
    expect(one.tokens + other.tokens).toBe(BURST);
    expect(
      limits.buckets("requests", { perSecond: 0.001, burst: BURST }).take("4/192.0.2.1"),
    ).toBeGreaterThan(0);

    // Places: never more than there are.
    expect(one.requests + other.requests).toBe(requests.total);
    expect(requests.total).toBeLessThanOrEqual(MOST);
    expect(one.connections + other.connections).toBe(clients.totalOf(slot));
    expect(clients.totalOf(slot)).toBeLessThanOrEqual(MOST);
    // Each of two may be rejected for the other at the last place, but not for long.
    expect(requests.total).toBeGreaterThan(MOST - 10);
    expect(clients.totalOf(slot)).toBeGreaterThan(MOST - 10);

    await workers[0]!.terminate();
    limits.clear(1);
    expect([requests.total, clients.totalOf(slot)]).toEqual([other.requests, other.connections]);
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
});
