import type { Socket } from "node:net";
import type { LimitCounters } from "../../../limits/limit-counters.ts";
import { ConnectionTable, keyOf, type TableEntry } from "../server/connection-table.ts";
import type { StreamConnection } from "./stream-connection.ts";

/** Bounds on connections. */
export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerClient: number;
  /** A connection without queries and answers is closed after so many seconds. */
  readonly idleSeconds: number;
  /** Counts connections that these bounds reject or close. */
  readonly counters: LimitCounters;
  /** The configured bounds. */
  readonly kind: "dns" | "dot";
}

interface Held extends TableEntry {
  readonly client: string;
  /** By `performance.now()`. */
  readonly admittedAt: number;
  /** Undefined while TLS is being negotiated. */
  connection: StreamConnection | undefined;
}

const SWEEP_INTERVAL = 1000;

/**
 * The connections of all listeners of one kind. At the limit the longest idle connection is closed
 * (RFC 7766 section 6.2.2), so idle connections do not keep other clients out.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #held = new ConnectionTable<Held>();
  readonly #perClient = new Map<string, number>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Admits a new connection, or closes it. */
  admit(socket: Socket): void {
    const client = socket.remoteAddress;
    // The client has disconnected already.
    if (client === undefined) return void socket.destroy();
    const count = this.#perClient.get(client) ?? 0;
    const { counters, kind, connections, connectionsPerClient } = this.#limits;
    if (count >= connectionsPerClient) {
      counters.hit(`${kind}.connectionsPerClient`);
      return void socket.destroy();
    }
    if (this.#held.size >= connections) {
      counters.hit(`${kind}.connections`);
      if (!this.#dropIdlest()) return void socket.destroy();
    }
    const admittedAt = performance.now();
    const held: Held = { key: keyOf(socket), socket, client, admittedAt, connection: undefined };
    this.#held.add(held);
    this.#perClient.set(client, count + 1);
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
    let idlest: StreamConnection | undefined;
    for (const { connection } of this.#held.values())
      if (connection !== undefined && !connection.isBusy)
        if (idlest === undefined || connection.activeAt < idlest.activeAt) idlest = connection;
    idlest?.destroy();
    return idlest !== undefined;
  }

  #release(held: Held): void {
    const { client } = held;
    this.#held.delete(held);
    const left = this.#perClient.get(client)! - 1;
    if (left > 0) this.#perClient.set(client, left);
    else this.#perClient.delete(client);
    if (this.#held.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}
