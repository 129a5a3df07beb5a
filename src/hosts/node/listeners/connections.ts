import type { Socket } from "node:net";
import type { LimitCounters } from "../../../limits/limit-counters.ts";
import { ConnectionTable, keyOf, type TableEntry } from "../server/connection-table.ts";
import type { StreamConnection } from "./stream-connection.ts";

/** Bounds on connections. */
export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerClient: number;
  /** A connection that did nothing useful for so long is closed. Milliseconds. */
  readonly idleTimeout: number;
  /** Counts what is refused or closed by these bounds. */
  readonly counters: LimitCounters;
  /** As they are configured. */
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
 * The connections of all listeners of one kind. Where there is no place for one more, the one that has been idle for longest goes
 * (RFC 7766 section 6.2.2): strangers who hold connections open keep nobody out.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #held = new ConnectionTable<Held>();
  readonly #perClient = new Map<string, number>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Takes in a connection that was just accepted, or cuts it off. */
  admit(socket: Socket): void {
    const client = socket.remoteAddress;
    // It has gone already.
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
    const interval = Math.min(SWEEP_INTERVAL, Math.ceil(this.#limits.idleTimeout / 2));
    this.#sweeper ??= setInterval(() => this.#sweep(), interval).unref();
    socket.once("close", () => this.#release(held));
  }

  /** Notes that an admitted connection speaks DNS now. */
  started(socket: Socket, connection: StreamConnection): void {
    const held = this.#held.of(socket);
    if (held === undefined) {
      connection.destroy();
      return;
    }
    held.connection = connection;
  }

  /** Lets answers that are on their way leave, and closes what is idle. */
  finishAll(): void {
    for (const { socket, connection } of this.#held.values())
      if (connection === undefined) socket.destroy();
      else connection.finish();
  }

  /** Cuts off what is left. */
  destroyAll(): void {
    for (const { socket } of this.#held.values()) socket.destroy();
  }

  #sweep(): void {
    const since = performance.now() - this.#limits.idleTimeout;
    for (const { socket, connection, admittedAt } of this.#held.values()) {
      if (connection?.isBusy === true || (connection?.activeAt ?? admittedAt) > since) continue;
      if (connection !== undefined) this.#limits.counters.hit(`${this.#limits.kind}.idleSeconds`);
      connection?.destroy();
      // A TLS connection may have ended without the TCP connection below it, where its client went unseen.
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
