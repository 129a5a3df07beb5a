import { createClientAddress } from "../../http/client-address.ts";
import type { DnsResource } from "../../http/dns-resource.ts";
import { behindGate, createRequestGate, fetchBehindGate } from "../../http/request-gate.ts";
import { ClientNetworks } from "../../limits/client-networks.ts";
import { ClientRate } from "../../limits/client-rate.ts";
import { anyLoad, LoopDelay, RequestsInFlight } from "../../limits/load.ts";
import type { StartServer } from "../node/node-server.ts";
import { clientConnections, clientRequests, socketNetworks } from "./client-settings.ts";
import type { ServeConfig } from "./serve-config.ts";

/** What is protected. */
export interface Protected {
  readonly config: Pick<ServeConfig, "clients" | "limits">;
  readonly resource: Pick<DnsResource, "counters" | "refuse" | "byPath">;
}

/** Starts servers whose requests pass the limits on clients and on the load of the process first. */
export function protect(start: StartServer, { config, resource }: Protected): StartServer {
  const { clients } = config;
  const { requestsInFlight, loopDelayMilliseconds } = config.limits;
  const counters = resource.counters.limits;
  return async (options) => {
    const requests = new RequestsInFlight(requestsInFlight);
    const delay = loopDelayMilliseconds === 0 ? undefined : new LoopDelay(loopDelayMilliseconds);
    const rate = new ClientRate(clientRequests(clients));
    const clientAddress = createClientAddress(clients);
    const gateOf = (load: Parameters<typeof createRequestGate>[0]["load"]) =>
      createRequestGate({
        ...(clients.requestsPerSecond > 0 && { rate }),
        ...{ clientAddress, load, counters, refuse: resource.refuse },
        dnsPaths: [...resource.byPath.keys()],
      });
    // Only DNS is answered by exchanges, and DNS is answered however busy the gateway is.
    const exchange = behindGate(gateOf(undefined));
    const { exchanges } = options;
    const server = await start({
      ...options,
      fetch: fetchBehindGate(gateOf(anyLoad([requests, ...(delay === undefined ? [] : [delay])])))(
        options.fetch,
      ),
      ...(exchanges !== undefined && {
        exchanges: {
          ...exchanges,
          byPath: new Map([...exchanges.byPath].map(([path, one]) => [path, exchange(one)])),
        },
      }),
      protection: {
        counters,
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
