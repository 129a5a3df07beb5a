import type { QueryCounters } from "../../../answer/query-counters.ts";
import { clientConnections, socketNetworks } from "../../../config/limits/clients.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import { ClientNetworks } from "../../../limits/client-networks.ts";
import { ClientRate } from "../../../limits/client-rate.ts";
import { anyLoad, type Load, LoopDelay, RequestsInFlight } from "../../../limits/load.ts";
import type { SharedLimits } from "../../../limits/shared/shared-limits.ts";
import type { ServerProtection } from "../server/server-protection.ts";

/** The limits on connections, and the load of the process. */
export interface Protection {
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
      ...{ requests, counters: counters.limits, errors: counters.errors },
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
