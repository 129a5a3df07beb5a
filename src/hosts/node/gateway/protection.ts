import type { QueryCounters } from "../../../answer/query-counters.ts";
import { clientConnections, socketNetworks } from "../../../config/limits.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { ClientRate } from "../../../limits/client-rate.ts";
import { ClientNetworks } from "../../../limits/client-table.ts";
import { anyLoad, type Load, LoopDelay, RequestsInFlight } from "../../../limits/load.ts";
import { type SharedLimitMemory, SharedLimits } from "../../../limits/shared.ts";
import type { ServerProtection } from "../server/server-protection.ts";

/** The limits on connections, and the load of the process. */
interface Protection {
  readonly protection: ServerProtection;
  readonly load: Load;
  /** Stops measuring. */
  close(): void;
}

/** Measures the load of this thread from now on, and counts connections and requests. */
export function createProtection(
  { clients, limits }: Pick<ServeConfig, "clients" | "limits">,
  counters: QueryCounters,
  shared: SharedLimits,
): Protection {
  const requests = new RequestsInFlight(limits.requestsInFlight, shared.count("requests"));
  const most = limits.loopDelayMilliseconds;
  const delay = most === 0 ? undefined : new LoopDelay(most, undefined, shared.count("overloaded"));
  const end = delay?.start();
  return {
    protection: {
      requests,
      counters: counters.limits,
      errors: counters.errors,
      connections: shared.count("connections"),
      leaving: shared.count("connections.leaving"),
      clients: {
        networks: new ClientNetworks(socketNetworks(clients)),
        connections: clients.connections,
        open: shared.clients("https"),
        rate: new ClientRate(clientConnections(clients), undefined, (rate) =>
          shared.buckets("connections", rate),
        ),
      },
    },
    load: anyLoad(delay === undefined ? [requests] : [requests, delay]),
    close: () => end?.(),
  };
}

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
