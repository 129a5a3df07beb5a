import type { Client } from "../access/client.ts";
import { type ListenAddress, UsageError } from "../config/values.ts";
import { listenFailure, NoSuchAddress } from "./node/process.ts";
import type { ServerProtection } from "./node/server/connections.ts";

import type { NodeServer, NodeServerOptions, StartServer } from "./node/server/node-server.ts";

/** Answers a request from a client at an IP address. */
type Respond = (request: Request, clientAddress: string | undefined) => Response | Promise<Response>;

/** A listener on one address. */
export interface Listener {
  readonly port: number;
  /** Stops accepting, finishes requests in progress, and cuts off the rest after `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

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
 * The server of such a runtime, instead of Node's: `localhost` means both of its addresses, no host means every address.
 * These servers cannot request client certificates, nor change their certificate while they run: such settings are errors.
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
    const open = (hostname: string, port: number) =>
      openListener(runtime, { hostname, port, tls, limits, respond }, { ...listen, port });
    const [first, second] = addressesOf(listen);
    const listeners = [await openFirst(open, first, listen)];
    if (second !== undefined)
      try {
        listeners.push(await open(second, listeners[0]!.port));
      } catch (error) {
        if (!(error instanceof NoSuchAddress)) {
          await listeners[0]!.stop(0);
          throw error;
        }
      }
    return describe(runtime, listeners);
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

type Open = (hostname: string, port: number) => Promise<Listener>;

/** The address to listen on, and a second one if the machine has it. */
function addressesOf({ host }: ListenAddress): readonly [string, string?] {
  if (host === "localhost") return ["127.0.0.1", "::1"];
  return [host ?? "::"];
}

async function openFirst(open: Open, hostname: string, listen: ListenAddress): Promise<Listener> {
  try {
    return await open(hostname, listen.port);
  } catch (error) {
    // On a machine without IPv6 only this form means every address.
    if (listen.host === undefined && error instanceof NoSuchAddress) return open("0.0.0.0", listen.port);
    throw error;
  }
}

async function openListener(
  runtime: FetchRuntime,
  options: ListenOptions,
  asked: ListenAddress,
): Promise<Listener> {
  try {
    return await runtime.listen(options);
  } catch (error) {
    throw listenFailure(error as NodeJS.ErrnoException, asked);
  }
}

function describe(runtime: FetchRuntime, listeners: readonly Listener[]): NodeServer {
  return {
    address: { port: listeners[0]!.port },
    renew: () => {
      throw new Error(`${runtime.name} takes another certificate only when it starts: restart the gateway`);
    },
    stop: async (grace) => {
      await Promise.all(listeners.map((listener) => listener.stop(grace)));
    },
  };
}
