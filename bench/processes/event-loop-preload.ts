/**
 * `node --import bench/processes/event-loop-preload.ts …`: tells at EVENT_LOOP_PORT how long turns of the
 * process's event loop took since it was last asked.
 */
import { createServer } from "node:http";
import { isMainThread } from "node:worker_threads";
import type { LongestTurn } from "./event-loop.ts";

/** Between two looks at the clocks, in milliseconds: a turn seems longer by that much at most. */
const TICK = 2;

if (isMainThread) {
  let longest: LongestTurn = { wall: 0, cpu: 0 };
  let [wall, cpu] = now();
  setInterval(() => {
    const [wallNow, cpuNow] = now();
    const [took, spent] = [wallNow - wall, cpuNow - cpu];
    // The kernel adds what a thread spends to its account at ticks, some milliseconds apart: a turn is
    // charged with what others spent.
    longest = { wall: Math.max(longest.wall, took), cpu: Math.max(longest.cpu, Math.min(spent, took)) };
    [wall, cpu] = [wallNow, cpuNow];
  }, TICK).unref();
  const server = createServer((_, response) => {
    response.end(JSON.stringify(longest));
    longest = { wall: 0, cpu: 0 };
  });
  server.listen(Number(process.env.EVENT_LOOP_PORT), "127.0.0.1").unref();
}

/** The clock, and the CPU time of this thread alone; both in milliseconds. */
function now(): [wall: number, cpu: number] {
  const { user, system } = process.threadCpuUsage();
  return [performance.now(), (user + system) / 1000];
}
