import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { type Listener, listen, stopServer } from "../listen.ts";
import { ConnectionPool } from "../server/connection-pool.ts";
import { negotiate, type ServerTls, secureContext } from "../tls.ts";
import { DnsConnection, StreamConnection, type StreamParts } from "./stream-connection.ts";
import type { AnswerMessage } from "./udp.ts";

/**
 * Answers DNS over TCP (RFC 7766), or with certificates DNS over TLS 1.2 and 1.3 (RFC 7858). A client that
 * uses ALPN must offer `dot` (RFC 7301); a client without ALPN is accepted. It requests no client
 * certificates.
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
  const handshakeTimeout = limits.handshakeSeconds * 1000;
  const server =
    tls === undefined
      ? createServer({ allowHalfOpen: true, noDelay: true })
      : createTlsServer({ noDelay: true, ...secureContext(tls), ...negotiate(["dot"]), handshakeTimeout });
  server.prependListener("connection", (socket: Socket) => {
    socket.on("error", failed);
    connections.admit(socket);
    if (tls === undefined && !socket.destroyed) connections.started(socket, answer);
  });
  server.on("secureConnection", (socket: Socket) => {
    // Not before: a client that ends its half in a handshake would be counted until that times out.
    socket.allowHalfOpen = true;
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

const SWEEP_INTERVAL = 1000;

/** The connections of all listeners of one kind in one thread. */
export class Connections {
  readonly parts: StreamParts;
  readonly #pool: ConnectionPool<DnsConnection>;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(parts: StreamParts) {
    this.parts = parts;
    const { kind, settings, open, counters } = parts;
    const { connections, connectionsPerClient } = settings;
    this.#pool = new ConnectionPool({
      counters: counters.limits,
      all: { limit: `${kind}.connections`, most: connections, open: open.all },
      clients: { limit: `${kind}.connectionsPerClient`, most: connectionsPerClient, open: open.clients },
      create: (socket, slot) => new DnsConnection(socket, slot),
      close: destroy,
    });
  }

  /** Admits a new connection, or closes it. */
  admit(socket: Socket): void {
    const { remoteAddress } = socket;
    // The client has disconnected already.
    if (remoteAddress === undefined) return void socket.destroy();
    this.#pool.admit(socket, this.parts.networks.of(remoteAddress) ?? remoteAddress);
    const interval = Math.min(SWEEP_INTERVAL, Math.ceil(this.parts.settings.idleSeconds * 500));
    this.#sweeper ??= setInterval(() => this.#sweep(), interval).unref();
  }

  /** Answers the queries of an admitted connection, which has finished its handshake. */
  started(socket: Socket, answer: AnswerMessage): void {
    const connection = this.#pool.of(socket);
    if (connection === undefined) return void socket.destroy();
    connection.stream = new StreamConnection(connection, this.#pool, socket, answer, this.parts);
    this.#pool.touch(connection, true);
  }

  /** Closes idle connections, and the others after their pending answers. */
  finishAll(): void {
    for (const { socket, stream } of this.#pool.values())
      if (stream === undefined) socket.destroy();
      else stream.finish();
  }

  /** Closes all remaining connections at once. */
  destroyAll(): void {
    for (const { socket } of this.#pool.values()) socket.destroy();
  }

  #sweep(): void {
    const { kind, settings, counters } = this.parts;
    const since = performance.now() - settings.idleSeconds * 1000;
    for (const connection of this.#pool.values()) {
      if (connection.open > 0 || connection.activeAt > since) continue;
      if (connection.isUsed) counters.limits.hit(`${kind}.idleSeconds`);
      destroy(connection);
    }
    if (this.#pool.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}

function destroy({ stream, socket }: DnsConnection): void {
  stream?.destroy();
  // A TLS connection may have ended without its TCP connection, if the client disappeared.
  socket.destroy();
}
