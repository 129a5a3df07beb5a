import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { type Listener, listen, stopServer } from "../listen.ts";
import { negotiate, type ServerTls, secureContext } from "../tls.ts";
import type { Connections } from "./connections.ts";
import type { AnswerMessage } from "./udp.ts";

/**
 * Answers DNS over TCP (RFC 7766), or with certificates DNS over TLS 1.2 and 1.3 (RFC 7858). A client that uses ALPN must offer `dot` (RFC 7301); a client
 * without ALPN is accepted. It requests no client certificates.
 * @throws the network's error
 */
export async function listenStream(
  host: string | undefined,
  port: number,
  answer: AnswerMessage,
  connections: Connections,
  tls?: ServerTls,
): Promise<Listener> {
  const { limits, counters, reusePort = false } = connections.parts;
  const { listeners } = counters.errors;
  const failed = tls === undefined ? listeners.dns_tcp : listeners.dot;
  const options = { allowHalfOpen: true, noDelay: true };
  const handshakeTimeout = limits.handshakeSeconds * 1000;
  const server =
    tls === undefined
      ? createServer(options)
      : createTlsServer({ ...options, ...secureContext(tls), ...negotiate(["dot"]), handshakeTimeout });
  server.prependListener("connection", (socket: Socket) => {
    socket.on("error", failed);
    connections.admit(socket);
    if (tls === undefined && !socket.destroyed) connections.started(socket, answer);
  });
  server.on("secureConnection", (socket: Socket) => {
    socket.on("error", failed);
    // Node reports an error of a TLS connection without ending it.
    socket.on("error", () => socket.destroy());
    connections.started(socket, answer);
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    failed(error);
    if (error.code === "ERR_TLS_HANDSHAKE_TIMEOUT") counters.limits.hit("limits.handshakeSeconds");
    socket.destroy();
  });
  // For example, out of file descriptors: existing connections continue.
  server.on("error", listeners.server);
  return {
    port: await listen(server, { host, port, ipv6Only: true, exclusive: true, reusePort }),
    renew: (renewed) => {
      if ("setSecureContext" in server) server.setSecureContext(secureContext(renewed));
    },
    stop: async (grace) => {
      const stopped = stopServer(server, grace, () => connections.destroyAll());
      connections.finishAll();
      await stopped;
      connections.destroyAll();
    },
  };
}
