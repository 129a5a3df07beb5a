import type { Client } from "../../access/client/client.ts";
import type { ListenAddress } from "../../config/values/listen-address.ts";
import { UsageError } from "../../config/values/usage-error.ts";
import { listenFailure, NoSuchAddress } from "../node/listen-failure.ts";
import type { NodeServer, NodeServerOptions, StartServer } from "../node/server/node-server.ts";
import type { ServerProtection } from "../node/server/server-protection.ts";

/** Answers a request from a client at an IP address. */
export type Respond = (request: Request, clientAddress: string | undefined) => Response | Promise<Response>;

/** One address that is listened on. */
export interface Listener {
  readonly port: number;
  /** Stops accepting, lets requests that run finish, and cuts off what is left after `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

/** What a runtime's own server is started with. */
export interface ListenOptions extends Pick<NodeServerOptions, "tls" | "limits"> {
  readonly hostname: string;
  readonly port: number;
  readonly respond: Respond;
}

/** A runtime whose server takes a Request and gives a Response. */
export interface FetchRuntime {
  readonly name: string;
  /** @throws {Error} with the code of the system's error, where the address cannot be listened on */
  listen(options: ListenOptions): Listener | Promise<Listener>;
}

/**
 * The server of such a runtime, in the place of Node's: `localhost` is both of its addresses, no host is every address.
 * What these servers cannot do is an error: ask for client certificates, or take another certificate while they run.
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
    const respond = protection === undefined ? answer : countRequests(answer, protection);
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

/** Bounds how many requests are answered at the same time; when responses are taken these runtimes do not tell. */
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

/** The address to listen on, and one more where the machine has it. */
function addressesOf({ host }: ListenAddress): readonly [string, string?] {
  if (host === "localhost") return ["127.0.0.1", "::1"];
  return [host ?? "::"];
}

async function openFirst(open: Open, hostname: string, listen: ListenAddress): Promise<Listener> {
  try {
    return await open(hostname, listen.port);
  } catch (error) {
    // A machine without IPv6 has every address in this form only.
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
