import type { Socket } from "node:net";
import type { ClientSlot, SharedClientCounts } from "../../../limits/client-table.ts";
import type { LimitCounters } from "../../../limits/counters.ts";
import type { Count } from "../../../limits/shared.ts";
import { ConnectionTable, keyOf, Order, type Ordered, type TableEntry } from "../server/connections.ts";
import type { StreamConnection } from "./stream-connection.ts";

/** Bounds on connections. */
export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerClient: number;
  /** A connection without queries and answers is closed after so many seconds. */
  readonly idleSeconds: number;
  /** The open connections in all threads, and those of each client. */
  readonly open: { readonly all: Count; readonly clients: SharedClientCounts };
  /** Counts connections that these bounds reject or close. */
  readonly counters: LimitCounters;
  /** The configured bounds. */
  readonly kind: "dns" | "dot";
}

interface Held extends TableEntry, Ordered<Held> {
  /** Where it is counted with its client. */
  readonly slot: ClientSlot;
  isCounted: boolean;
  /** By `performance.now()`. */
  readonly admittedAt: number;
  /** Undefined while TLS is being negotiated. */
  connection: StreamConnection | undefined;
}

const SWEEP_INTERVAL = 1000;

/**
 * The connections of all listeners of one kind in one thread. The limits count those of all threads. At the limit the longest idle
 * connection of this thread is closed (RFC 7766 section 6.2.2), so idle connections do not keep other clients out.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #held = new ConnectionTable<Held>();
  /** Those that had their handshake, by their last query or answer. */
  readonly #used = new Order<Held>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Admits a new connection, or closes it. */
  admit(socket: Socket): void {
    const client = socket.remoteAddress;
    // The client has disconnected already.
    if (client === undefined) return void socket.destroy();
    const { counters, kind, connections, connectionsPerClient, open } = this.#limits;
    const slot = open.clients.begin(client);
    const reject = () => {
      open.clients.end(slot);
      socket.destroy();
    };
    if (open.clients.totalOf(slot) > connectionsPerClient) {
      counters.hit(`${kind}.connectionsPerClient`);
      return void reject();
    }
    if (!open.all.begin(connections)) {
      counters.hit(`${kind}.connections`);
      // Another thread may have taken the place.
      if (!this.#dropIdlest() || !open.all.begin(connections)) return void reject();
    }
    const admittedAt = performance.now();
    const held: Held = {
      key: keyOf(socket),
      socket,
      slot,
      admittedAt,
      isCounted: true,
      connection: undefined,
      older: undefined,
      newer: undefined,
    };
    this.#held.add(held);
    const interval = Math.min(SWEEP_INTERVAL, Math.ceil(this.#limits.idleSeconds * 500));
    this.#sweeper ??= setInterval(() => this.#sweep(), interval).unref();
    socket.once("close", () => this.#release(held));
  }

  /** Records that an admitted connection has finished its handshake. */
  started(socket: Socket, connection: StreamConnection): void {
    const held = this.#held.of(socket);
    if (held === undefined) {
      connection.destroy();
      return;
    }
    held.connection = connection;
    this.#used.append(held);
    connection.onActive = () => {
      if (held.isCounted) this.#used.append(held);
    };
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
    const since = performance.now() - this.#limits.idleSeconds * 1000;
    for (const { socket, connection, admittedAt } of this.#held.values()) {
      if (connection?.isBusy === true || (connection?.activeAt ?? admittedAt) > since) continue;
      if (connection !== undefined) this.#limits.counters.hit(`${this.#limits.kind}.idleSeconds`);
      connection?.destroy();
      // A TLS connection may have ended without its TCP connection, if the client disappeared.
      socket.destroy();
    }
  }

  #dropIdlest(): boolean {
    let idlest = this.#used.oldest;
    while (idlest?.connection?.isBusy === true) idlest = idlest.newer;
    if (idlest === undefined) return false;
    idlest.connection!.destroy();
    idlest.socket.destroy();
    // It no longer counts; the socket closes later.
    this.#release(idlest);
    return true;
  }

  #release(held: Held): void {
    this.#held.delete(held);
    this.#used.remove(held);
    if (held.isCounted) {
      held.isCounted = false;
      this.#limits.open.all.end();
      this.#limits.open.clients.end(held.slot);
    }
    if (this.#held.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}
