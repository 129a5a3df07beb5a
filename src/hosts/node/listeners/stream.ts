import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { ClientSlot } from "../../../limits/shared.ts";
import { type Listener, listen, stopServer } from "../listen.ts";
import {
  ConnectionTable,
  HANDSHAKE_GRACE,
  keyOf,
  Order,
  type Ordered,
  type TableEntry,
} from "../server/connections.ts";
import { negotiate, type ServerTls, secureContext } from "../tls.ts";
import { StreamConnection, type StreamParts } from "./stream-connection.ts";
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

interface Held extends TableEntry, Ordered<Held> {
  /** Where it is counted with its client. */
  readonly slot: ClientSlot;
  isCounted: boolean;
  /** Its start, or its last query or sent answer, by `performance.now()`. */
  activeAt: number;
  /** Undefined while TLS is being negotiated. */
  connection: StreamConnection | undefined;
}

const SWEEP_INTERVAL = 1000;

/**
 * The connections of all listeners of one kind in one thread. The limits count those of all threads. At the
 * limit one of this thread is closed that takes long for its handshake, else the longest idle one (RFC 7766
 * section 6.2.2), so that these do not keep other clients out.
 */
export class Connections {
  readonly parts: StreamParts;
  readonly #held = new ConnectionTable<Held>();
  /** Those in their handshake, by their start, and those that had it, by their last query or answer. */
  readonly #silent = new Order<Held>();
  readonly #used = new Order<Held>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(parts: StreamParts) {
    this.parts = parts;
  }

  /** Admits a new connection, or closes it. */
  admit(socket: Socket): void {
    const { remoteAddress } = socket;
    // The client has disconnected already.
    if (remoteAddress === undefined) return void socket.destroy();
    const { counters, kind, settings, open, networks } = this.parts;
    const slot = open.clients.begin(networks.of(remoteAddress) ?? remoteAddress);
    const reject = () => {
      open.clients.end(slot);
      socket.destroy();
    };
    if (open.clients.totalOf(slot) > settings.connectionsPerClient) {
      counters.limits.hit(`${kind}.connectionsPerClient`);
      return void reject();
    }
    if (!open.all.begin(settings.connections)) {
      counters.limits.hit(`${kind}.connections`);
      // Another thread may have taken the place.
      if (!this.#dropIdlest() || !open.all.begin(settings.connections)) return void reject();
    }
    const held: Held = {
      key: keyOf(socket),
      socket,
      slot,
      activeAt: performance.now(),
      isCounted: true,
      connection: undefined,
      older: undefined,
      newer: undefined,
    };
    this.#held.add(held);
    this.#silent.append(held);
    const interval = Math.min(SWEEP_INTERVAL, Math.ceil(settings.idleSeconds * 500));
    this.#sweeper ??= setInterval(() => this.#sweep(), interval).unref();
    socket.once("close", () => this.#release(held));
  }

  /** Answers the queries of an admitted connection, which has finished its handshake. */
  started(socket: Socket, answer: AnswerMessage): void {
    const held = this.#held.of(socket);
    if (held === undefined) return void socket.destroy();
    const active = () => {
      held.activeAt = performance.now();
      if (held.isCounted) this.#used.append(held);
    };
    held.connection = new StreamConnection(socket, answer, this.parts, active);
    this.#silent.remove(held);
    active();
  }

  /** Closes idle connections, and the others after their pending answers. */
  finishAll(): void {
    for (const { socket, connection } of this.#held.values())
      if (connection === undefined) socket.destroy();
      else connection.finish();
  }

  /** Closes all remaining connections at once. */
  destroyAll(): void {
    for (const { socket } of this.#held.values()) socket.destroy();
  }

  #sweep(): void {
    const { kind, settings, counters } = this.parts;
    const since = performance.now() - settings.idleSeconds * 1000;
    for (const { socket, connection, activeAt } of this.#held.values()) {
      if (connection?.isBusy === true || activeAt > since) continue;
      if (connection !== undefined) counters.limits.hit(`${kind}.idleSeconds`);
      connection?.destroy();
      // A TLS connection may have ended without its TCP connection, if the client disappeared.
      socket.destroy();
    }
  }

  #dropIdlest(): boolean {
    const silent = this.#silent.oldest;
    const isLate = silent !== undefined && silent.activeAt < performance.now() - HANDSHAKE_GRACE;
    let used = this.#used.oldest;
    while (used?.connection?.isBusy === true) used = used.newer;
    const idlest = isLate ? silent : (used ?? silent);
    if (idlest === undefined) return false;
    idlest.connection?.destroy();
    idlest.socket.destroy();
    // It no longer counts; the socket closes later.
    this.#release(idlest);
    return true;
  }

  #release(held: Held): void {
    this.#held.delete(held);
    (held.connection === undefined ? this.#silent : this.#used).remove(held);
    if (held.isCounted) {
      held.isCounted = false;
      this.parts.open.all.end();
      this.parts.open.clients.end(held.slot);
    }
    if (this.#held.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}
