import type { AddressInfo, Server } from "node:net";
import type { ServerLimits } from "../../../config/limits.ts";
import type { ListenAddress } from "../../../config/values.ts";
import { ConnectionErrors, LimitCounters } from "../../../limits/counters.ts";
import { RequestsInFlight } from "../../../limits/load.ts";
import { ownCount } from "../../../limits/shared.ts";
import { listenFailure, NoSuchAddress } from "../process.ts";
import { misdirectedFrom } from "../tls/misdirected.ts";
import { type ServerTls, secureContext } from "../tls/tls.ts";
import type { PathHandlers } from "./answer-request.ts";
import { ConnectionGuard } from "./connection-guard.ts";
import { type Application, answerByFetch, type FetchHandler } from "./fetch-request.ts";
import { createGuardedServer } from "./guarded-server.ts";
import type { ServerProtection } from "./server-protection.ts";

/** The settings of a server, whatever answers its requests. */
export interface ServerOptions {
  readonly listen: ListenAddress;
  /** Whether other threads listen on the same port (SO_REUSEPORT). Default: no. */
  readonly reusePort?: boolean | undefined;
  /** TLS with HTTP/2 and HTTP/1.1; without it HTTP/1.1 in clear, for a proxy in front. */
  readonly tls: ServerTls | undefined;
  /** The handlers that run without what answers all other requests. */
  readonly paths?: PathHandlers;
  /** Called for an error that could not become a response. Default: it is ignored. */
  readonly onError?: (error: unknown) => void;
  readonly limits: ServerLimits;
  /** Host names of the gateway, in lower case; `*.` stands for one label. Default: they are not known. */
  readonly names?: readonly string[];
  /** Default: counters of its own, and no limits per client. */
  readonly protection?: ServerProtection;
}

/** The settings of a server whose requests are answered by a handler of the Fetch standard. */
export interface NodeServerOptions extends ServerOptions {
  readonly fetch: FetchHandler;
}

/** A running server. */
export interface NodeServer {
  readonly address: Pick<AddressInfo, "port">;
  /** Uses other certificates for new connections. It does not change whether the server requests client certificates. */
  renew(tls: ServerTls): void;
  /** Stops accepting, finishes requests in progress, and cuts off the rest after `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

/**
 * Starts a server.
 * @throws {UsageError} if it cannot listen on the address
 */
export type StartServer = (options: NodeServerOptions) => Promise<NodeServer>;

/**
 * Starts a server. For `localhost` it listens on both addresses, since clients differ in which one they try.
 * @throws {UsageError} if it cannot listen on the address
 */
export async function startNodeServer(
  options: NodeServerOptions | (ServerOptions & { readonly application: Application }),
): Promise<NodeServer> {
  const { tls, limits, paths, names = [], onError = () => {}, protection = unshared(limits) } = options;
  const { host, port } = options.listen;
  const { reusePort = false } = options;
  const guard = new ConnectionGuard(limits, protection);
  const application = "fetch" in options ? answerByFetch(options.fetch) : options.application;
  const handlers = { application, paths, onError };
  const isMisdirected = misdirectedFrom(names);
  const create = () => createGuardedServer({ tls, limits, guard, handlers, protection, isMisdirected });
  const first = create();
  const servers = [first];
  const stop = async (grace: number) => {
    guard.stop();
    await Promise.all(servers.map((server) => stopGuarded(server, guard, grace)));
    guard.close();
  };
  await listen(first, { host: host === "localhost" ? "127.0.0.1" : host, port }, reusePort);
  const address = first.address() as AddressInfo;
  if (host === "localhost") {
    const second = create();
    try {
      await listen(second, { host: "::1", port: address.port }, reusePort);
      servers.push(second);
    } catch (error) {
      if (!(error instanceof NoSuchAddress)) {
        await stop(0);
        throw error;
      }
    }
  }
  return {
    address,
    renew: (renewed) => {
      for (const server of servers)
        if ("setSecureContext" in server) server.setSecureContext(secureContext(renewed));
    },
    stop,
  };
}

function unshared({ requestsInFlight }: ServerLimits): ServerProtection {
  const requests = new RequestsInFlight(requestsInFlight);
  const [connections, leaving] = [ownCount("connections"), ownCount("connections.leaving")];
  return {
    ...{ counters: new LimitCounters(), errors: new ConnectionErrors(), requests, connections, leaving },
    clients: undefined,
  };
}

function stopGuarded(server: Server, guard: ConnectionGuard, grace: number): Promise<void> {
  return new Promise((resolve) => {
    const cutOff = setTimeout(() => guard.destroyAll(), grace);
    server.close(() => {
      clearTimeout(cutOff);
      resolve();
    });
  });
}

function listen(server: Server, address: ListenAddress, reusePort: boolean): Promise<void> {
  const { host, port } = address;
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(listenFailure(error, address));
    server.once("error", fail);
    server.listen({ port, reusePort, ...(host !== undefined && { host }) }, () => {
      server.off("error", fail);
      resolve();
    });
  });
}
