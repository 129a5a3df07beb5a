import type { ServeConfig } from "../../../config/serve-config.ts";
import { type SharedLimitMemory, SharedLimits } from "../../../limits/shared/shared-limits.ts";

/** Allocates the limits of a process that has at most so many threads with connections. */
export function allocateLimits(
  { limits, dns, dot }: Pick<ServeConfig, "limits" | "dns" | "dot">,
  threads: number,
): SharedLimitMemory {
  const connections = { https: limits.connections, dns: dns.connections, dot: dot.connections };
  return SharedLimits.allocate({ threads, connections });
}

/** The limits of the process, for one of its threads. @param thread the number of this thread, from 0 */
export function openLimits(memory: SharedLimitMemory, thread: number): SharedLimits {
  return new SharedLimits(memory, thread, processClock());
}

/** A clock that all threads of the process have in common, in monotonic milliseconds. */
function processClock(): () => number {
  // `performance.now()` begins with its thread; hrtime is that of the machine, but takes longer to read.
  let [began, shortest] = [0, Number.POSITIVE_INFINITY];
  // A thread that has to wait between the two readings measures again.
  for (let reading = 0; reading < 5; reading++) {
    const before = performance.now();
    const machine = Number(process.hrtime.bigint()) / 1e6;
    const took = performance.now() - before;
    if (took < shortest) [began, shortest] = [machine - before, took];
  }
  return () => began + performance.now();
}
