import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import type { ConnectionErrors } from "../../../limits/counters.ts";
import { negotiate, type ServerTls, secureContext } from "../tls.ts";
import type { Bound } from "./bind.ts";
import type { Connections } from "./connections.ts";
import { StreamConnection, type StreamParts } from "./stream-connection.ts";

/** The parts of a TCP listener. */
export interface StreamListenerParts extends StreamParts {
  readonly connections: Connections;
  /** See `ListenerParts`. */
  readonly reusePort?: boolean | undefined;
  readonly errors: ConnectionErrors;
}

/** The parts of a TLS listener. */
interface TlsListenerParts extends StreamListenerParts {
  readonly tls: ServerTls;
  /** The longest TLS handshake. */
  readonly handshakeSeconds: number;
  readonly onSlowHandshake: () => void;
}

/** A TLS listener with a replaceable certificate. */
export interface TlsBound extends Bound {
  renew(tls: ServerTls): void;
}

/** Answers DNS over TCP (RFC 7766). @throws the network's error */
export function listenTcp(host: string, port: number, parts: StreamListenerParts): Promise<Bound> {
  const { connections } = parts;
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  server.on("connection", (socket: Socket) => {
    socket.on("error", parts.errors.listeners.dns_tcp);
    connections.admit(socket);
    if (!socket.destroyed) connections.started(socket, new StreamConnection(socket, parts));
  });
  return listen(server, parts, host, port);
}

/**
 * Answers DNS over TLS (RFC 7858) with TLS 1.2 and 1.3. A client that uses ALPN must offer `dot` (RFC 7301); a client without ALPN is
 * accepted. It requests no client certificates.
 * @throws the network's error
 */
export async function listenTls(host: string, port: number, parts: TlsListenerParts): Promise<TlsBound> {
  const { connections } = parts;
  const server = createTlsServer({
    ...secureContext(parts.tls),
    ...negotiate(["dot"]),
    handshakeTimeout: parts.handshakeSeconds * 1000,
    allowHalfOpen: true,
    noDelay: true,
  });
  const failed = parts.errors.listeners.dot;
  server.prependListener("connection", (socket: Socket) => {
    socket.on("error", failed);
    connections.admit(socket);
  });
  server.on("secureConnection", (socket) => {
    socket.on("error", failed);
    // Node reports an error of a TLS connection without ending it.
    socket.on("error", () => socket.destroy());
    connections.started(socket, new StreamConnection(socket, parts));
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    failed(error);
    if (error.code === "ERR_TLS_HANDSHAKE_TIMEOUT") parts.onSlowHandshake();
    socket.destroy();
  });
  const bound = await listen(server, parts, host, port);
  return { ...bound, renew: (tls) => (server as TlsServer).setSecureContext(secureContext(tls)) };
}

function listen(server: Server, parts: StreamListenerParts, host: string, port: number): Promise<Bound> {
  const { connections, errors, reusePort = false } = parts;
  // For example, out of file descriptors: existing connections continue.
  server.on("error", errors.listeners.server);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, ipv6Only: true, exclusive: true, reusePort }, () => {
      server.off("error", reject);
      resolve({
        port: (server.address() as { port: number }).port,
        close: (grace) => close(server, connections, grace),
      });
    });
  });
}

function close(server: Server, connections: Connections, grace: number): Promise<void> {
  return new Promise((resolve) => {
    const cutOff = setTimeout(() => connections.destroyAll(), grace);
    server.close(() => {
      clearTimeout(cutOff);
      connections.destroyAll();
      resolve();
    });
    connections.finishAll();
  });
}
