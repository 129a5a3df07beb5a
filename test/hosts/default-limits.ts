import type { ServerLimits } from "../../src/config/limits.ts";
import { ServeConfig } from "../../src/config/settings.ts";
import type { ServerProtection } from "../../src/hosts/node/server/connections.ts";
import { ConnectionErrors, LimitCounters, ownCount, RequestsInFlight } from "../../src/limits/counters.ts";

/** The limits of a server without a config file. */
export const DEFAULT_SERVER_LIMITS: ServerLimits = ServeConfig.parse({}).limits;

/** The counters of a server that shares them with no other one, without limits per client. */
export function ownProtection({ requestsInFlight } = DEFAULT_SERVER_LIMITS): ServerProtection {
  return {
    counters: new LimitCounters(),
    errors: new ConnectionErrors(),
    requests: new RequestsInFlight(requestsInFlight),
    connections: ownCount("connections"),
    leaving: ownCount("connections.leaving"),
    clients: undefined,
  };
}
