import { once } from "node:events";
import type { AddressInfo, ListenOptions, Server } from "node:net";
import { formatListenAddress, type ListenAddress, UsageError } from "../../config/values.ts";
import type { ServerTls } from "./tls.ts";

/** What listens, on one address or on several. */
export interface Listener {
  readonly port: number;
  /**
   * Uses other certificates for new connections. It does not change whether a server requests client
   * certificates.
   */
  renew?(tls: ServerTls): void;
  /** Stops accepting, finishes requests in progress, and cuts off the rest after `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

/** An address with a listener. */
export interface ListeningPlace {
  readonly kind: "dns" | "dot";
  /** As configured; port 0 is replaced by the actual port. */
  readonly address: string;
  readonly port: number;
  readonly view: string | undefined;
  readonly rule?: string | undefined;
}

/** Starts to listen on one address, or on all without a host. @throws the system's error */
export type StartListener = (host: string | undefined, port: number) => Promise<Listener>;

/** Listeners as one, with the port of the first. */
export function asOneListener(listeners: readonly Listener[]): Required<Listener> {
  return {
    port: listeners[0]?.port ?? 0,
    renew: (tls) => {
      for (const listener of listeners) listener.renew?.(tls);
    },
    stop: async (grace) => {
      await Promise.all(listeners.map((listener) => listener.stop(grace)));
    },
  };
}

/** The most attempts for port 0: the port must be free for every listener on every address. */
const MOST_ATTEMPTS = 20;

/**
 * Listens on every address of `HOST:PORT`, each with all of `starts`, and all on the same port.
 * @param kind the setting of a listener for DNS that contains the address. Default: the gateway's own
 * @throws {UsageError} if it cannot listen on an address; then all are stopped again
 */
export async function listenOnAll(
  { host, port: wanted }: ListenAddress,
  starts: readonly StartListener[],
  kind?: "dns" | "dot",
): Promise<Listener[]> {
  for (let attempt = 1; ; attempt++) {
    const listeners: Listener[] = [];
    const startAll = async (host: string | undefined, isOptional = false) => {
      let port = listeners[0]?.port ?? wanted;
      try {
        for (const start of starts) {
          const listener = await start(host, port);
          listeners.push(listener);
          port = listener.port;
        }
      } catch (error) {
        const failure = listenFailure(error as NodeJS.ErrnoException, { host, port }, kind);
        if (!isOptional || !(failure instanceof NoSuchAddress)) throw failure;
      }
    };
    try {
      if (host === "localhost") {
        // Clients differ in which one they try.
        await startAll("127.0.0.1");
        await startAll("::1", true);
      } else if (host === undefined && kind !== undefined) {
        // Those of IPv4 and those of IPv6, so that clients have their own addresses.
        await startAll("0.0.0.0");
        await startAll("::", true);
      } else await startAll(host);
      return listeners;
    } catch (error) {
      await asOneListener(listeners).stop(0);
      if (wanted !== 0 || listeners.length === 0 || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

/** Starts to listen. @returns the port @throws the system's error */
export async function listen(server: Server, options: ListenOptions): Promise<number> {
  server.listen(options);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/**
 * Stops accepting; resolves when all connections have ended.
 * @param cutOff ends those that are left after `grace` milliseconds
 */
export async function stopServer(server: Server, grace: number, cutOff: () => void): Promise<void> {
  const timer = setTimeout(cutOff, grace);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(timer);
}

/** The machine lacks the address or the protocol. */
export class NoSuchAddress extends UsageError {}

/** Ports below this are for processes with CAP_NET_BIND_SERVICE. */
const FIRST_FREE_PORT = 1024;

/**
 * Explains why it is not possible to listen on an address.
 * @param kind the setting of a listener for DNS that contains it
 */
export function listenFailure(
  error: NodeJS.ErrnoException,
  { host, port }: ListenAddress,
  kind?: "dns" | "dot",
): UsageError {
  const setting = kind === undefined ? "" : `${kind}.listen: `;
  const place = `${setting}${host === undefined ? `port ${port}` : formatListenAddress(host, port)}`;
  const another = `choose another --${kind ?? "listen"} HOST:PORT`;
  switch (error.code) {
    case "EADDRINUSE":
      return new UsageError(`${place} is taken: stop the program that listens there, or ${another}`);
    case "EACCES":
      return new UsageError(
        port < FIRST_FREE_PORT
          ? `${place} is not allowed: give the process CAP_NET_BIND_SERVICE (AmbientCapabilities= in systemd, securityContext.capabilities.add: [NET_BIND_SERVICE] in Kubernetes), or choose a port above 1023 with --${kind ?? "listen"} HOST:PORT`
          : `${place} is not allowed: ${another}`,
      );
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
      return new NoSuchAddress(`${place} is not an address of this machine: ${another}`);
    default:
      return new UsageError(`${setting}cannot listen on ${place.slice(setting.length)}: ${error.message}`);
  }
}
