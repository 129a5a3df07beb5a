import { createClientAddress } from "../../access/client/client-address.ts";
import type { QueryCounters } from "../../answer/query-counters.ts";
import { clientConnections, clientRequests, socketNetworks } from "../../config/clients.ts";
import type { ServeConfig } from "../../config/serve-config.ts";
import type { Exchange } from "../../http/exchange.ts";
import type { Refuse } from "../../http/refusal.ts";
import { behindGate, createRequestGate, fetchBehindGate } from "../../http/request-gate.ts";
import { ClientNetworks } from "../../limits/client-networks.ts";
import { ClientRate } from "../../limits/client-rate.ts";
import { anyLoad, LoopDelay, RequestsInFlight } from "../../limits/load.ts";
import type { StartServer } from "../node/server/node-server.ts";

/** What is protected. */
export interface Protected {
  readonly config: Pick<ServeConfig, "clients" | "limits">;
  readonly counters: QueryCounters;
  readonly refuse: Refuse;
  /** Where DNS is answered. */
  readonly dnsPaths: readonly string[];
}

/** Starts servers whose requests pass the limits on clients and on the load of the process first. */
export function protect(start: StartServer, parts: Protected): StartServer {
  const { config, refuse, dnsPaths } = parts;
  const { clients } = config;
  const { requestsInFlight, loopDelayMilliseconds } = config.limits;
  const counters = parts.counters.limits;
  return async (options) => {
    const requests = new RequestsInFlight(requestsInFlight);
    const delay = loopDelayMilliseconds === 0 ? undefined : new LoopDelay(loopDelayMilliseconds);
    const rate = new ClientRate(clientRequests(clients));
    const clientAddress = createClientAddress(clients);
    const gate = createRequestGate({
      ...(clients.requestsPerSecond > 0 && { rate }),
      ...{ clientAddress, counters, refuse, dnsPaths },
      load: anyLoad([requests, ...(delay === undefined ? [] : [delay])]),
    });
    const gated = behindGate(gate);
    const gatedOf = new WeakMap<Exchange, Exchange>();
    const exchange = (one: Exchange): Exchange => {
      const made = gatedOf.get(one) ?? gated(one);
      gatedOf.set(one, made);
      return made;
    };
    const { exchanges } = options;
    const server = await start({
      ...options,
      fetch: fetchBehindGate(gate)(options.fetch),
      ...(exchanges !== undefined && {
        exchanges: {
          ...exchanges,
          at: (path) => {
            const one = exchanges.at(path);
            return one && exchange(one);
          },
        },
      }),
      protection: {
        counters,
        errors: parts.counters.errors,
        requests,
        clients: {
          networks: new ClientNetworks(socketNetworks(clients)),
          most: clients.connections,
          rate: new ClientRate(clientConnections(clients)),
        },
      },
    });
    const end = delay?.start();
    return {
      ...server,
      stop: async (grace) => {
        end?.();
        await server.stop(grace);
      },
    };
  };
}
