import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { type Listener, listen, stopServer } from "../listen.ts";
import { negotiate, type ServerTls, secureContext } from "../tls.ts";
import type { Connections } from "./connections.ts";
import type { AnswerMessage } from "./udp.ts";

/** Answers DNS over TCP (RFC 7766). @throws the network's error */
export function listenTcp(
  host: string | undefined,
  port: number,
  answer: AnswerMessage,
  connections: Connections,
): Promise<Listener> {
  const { errors } = connections.parts.counters;
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  server.on("connection", (socket: Socket) => {
    socket.on("error", errors.listeners.dns_tcp);
    connections.admit(socket);
    if (!socket.destroyed) connections.started(socket, answer);
  });
  return start(server, host, port, connections);
}

/**
 * Answers DNS over TLS (RFC 7858) with TLS 1.2 and 1.3. A client that uses ALPN must offer `dot` (RFC 7301); a client without ALPN is
 * accepted. It requests no client certificates.
 * @throws the network's error
 */
export async function listenTls(
  host: string | undefined,
  port: number,
  answer: AnswerMessage,
  connections: Connections,
  tls: ServerTls,
): Promise<Listener> {
  const { limits, counters } = connections.parts;
  const server = createTlsServer({
    ...secureContext(tls),
    ...negotiate(["dot"]),
    handshakeTimeout: limits.handshakeSeconds * 1000,
    allowHalfOpen: true,
    noDelay: true,
  });
  const failed = counters.errors.listeners.dot;
  server.prependListener("connection", (socket: Socket) => {
    socket.on("error", failed);
    connections.admit(socket);
  });
  server.on("secureConnection", (socket) => {
    socket.on("error", failed);
    // Node reports an error of a TLS connection without ending it.
    socket.on("error", () => socket.destroy());
    connections.started(socket, answer);
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    failed(error);
    if (error.code === "ERR_TLS_HANDSHAKE_TIMEOUT") counters.limits.hit("limits.handshakeSeconds");
    socket.destroy();
  });
  const listener = await start(server, host, port, connections);
  return { ...listener, renew: (renewed) => server.setSecureContext(secureContext(renewed)) };
}

async function start(
  server: Server,
  host: string | undefined,
  port: number,
  connections: Connections,
): Promise<Listener> {
  const { counters, reusePort = false } = connections.parts;
  // For example, out of file descriptors: existing connections continue.
  server.on("error", counters.errors.listeners.server);
  return {
    port: await listen(server, { host, port, ipv6Only: true, exclusive: true, reusePort }),
    stop: async (grace) => {
      const stopped = stopServer(server, grace, () => connections.destroyAll());
      connections.finishAll();
      await stopped;
      connections.destroyAll();
    },
  };
}
