import type { Client } from "../access/client.ts";
import { UsageError } from "../config/values.ts";
import {
  asOneListener,
  type Listener,
  listenFailure,
  listenOnAll,
  NoSuchAddress,
  type StartListener,
} from "./node/listen.ts";
import type { ServerProtection } from "./node/server/connections.ts";
import type { NodeServerOptions, StartServer } from "./node/server/node-server.ts";

/** Answers a request from a client at an IP address. */
type Respond = (request: Request, clientAddress: string | undefined) => Response | Promise<Response>;

/** The options of a runtime's own server. */
interface ListenOptions extends Pick<NodeServerOptions, "tls" | "limits"> {
  readonly hostname: string;
  readonly port: number;
  readonly respond: Respond;
}

/** A runtime whose server takes a Request and returns a Response. */
export interface FetchRuntime {
  readonly name: string;
  /** @throws {Error} with the system's error code if it cannot listen on the address */
  listen(options: ListenOptions): Listener | Promise<Listener>;
}

/**
 * The server of such a runtime, instead of Node's: `localhost` means both of its addresses, no host means
 * every address. These servers cannot request client certificates, nor change their certificate while they
 * run: such settings are errors.
 */
export function startFetchServer(runtime: FetchRuntime): StartServer {
  return async (options) => {
    const { listen, tls, limits, fetch, protection } = options;
    if (tls?.clientCa !== undefined)
      throw new UsageError(
        `tls.clientCaFile: ${runtime.name} shows no client certificates to the gateway; run it on Node for this`,
      );
    const answer: Respond = (request, clientAddress) =>
      fetch(request, { address: clientAddress, certificate: "none" } satisfies Client);
    const respond = countRequests(answer, protection);
    const open = async (hostname: string, port: number) =>
      runtime.listen({ hostname, port, tls, limits, respond });
    const start: StartListener = (host, port) =>
      open(host ?? "::", port).catch((error) => {
        // On a machine without IPv6 only this form means every address.
        if (host === undefined && listenFailure(error, listen) instanceof NoSuchAddress)
          return open("0.0.0.0", port);
        throw error;
      });
    return {
      ...asOneListener(await listenOnAll(listen, [start])),
      renew: () => {
        throw new Error(`${runtime.name} takes another certificate only when it starts: restart the gateway`);
      },
    };
  };
}

/** Limits the requests in progress. These runtimes do not report when a client has read a response. */
function countRequests(answer: Respond, { requests, counters }: ServerProtection): Respond {
  return async (request, clientAddress) => {
    if (!requests.begin()) {
      counters.hit("limits.requestsInFlight");
      return new Response("too many requests are waiting\n", {
        status: 503,
        headers: { "retry-after": "1" },
      });
    }
    try {
      return await answer(request, clientAddress);
    } finally {
      requests.end();
    }
  };
}
