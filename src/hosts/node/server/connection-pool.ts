import type { Socket } from "node:net";
import type { Count, Limit, LimitCounters } from "../../../limits/counters.ts";
import type { ClientSlot, SharedClientCounts } from "../../../limits/shared.ts";

/** A TCP connection and its state. Times are by `performance.now()`. */
export class PooledConnection {
  readonly socket: Socket;
  /** Its addresses and ports: a socket that is closed has none. */
  readonly key: string;
  /** Where it is counted with its client; undefined for a client without limits. */
  readonly slot: ClientSlot | undefined;
  isCounted = true;
  /** Whether it had a request, or of DNS its handshake. */
  isUsed = false;
  /** When its last request began or ended; before that, its start or the end of its handshake. */
  activeAt = performance.now();
  /** Requests in progress. */
  open = 0;
  /** Its neighbours in its order. */
  older: this | undefined;
  newer: this | undefined;

  constructor(socket: Socket, slot: ClientSlot | undefined) {
    this.socket = socket;
    this.key = keyOf(socket);
    this.slot = slot;
  }
}

/** A limit on open connections. */
interface PoolLimit<Open> {
  readonly limit: Limit;
  readonly most: number;
  /** Those that are open, in all threads. */
  readonly open: Open;
}

interface PoolParts<Connection> {
  readonly counters: Pick<LimitCounters, "hit">;
  readonly all: PoolLimit<Count>;
  /** Of each client; `most` is 0 for any number. Undefined: no limits per client. */
  readonly clients: PoolLimit<SharedClientCounts> | undefined;
  readonly create: (socket: Socket, slot: ClientSlot | undefined) => Connection;
  /** Closes a connection in favour of another one; it counts no more. */
  readonly close: (connection: Connection) => void;
}

/**
 * After this time without a request, in milliseconds, a new connection is closed before idle ones: until then
 * it may be in its handshake.
 */
const HANDSHAKE_GRACE = 1000;

/**
 * The connections of servers of one kind in one thread. The limits count those of all threads. At a limit, of
 * all connections or of one client, it closes one of this thread that never had a request, else the longest
 * idle one (RFC 7766 section 6.2.2), else the new one. So idle connections keep no client out, and no client
 * loses an answer that it waits for.
 */
export class ConnectionPool<Connection extends PooledConnection> {
  readonly #parts: PoolParts<Connection>;
  /**
   * By addresses and ports. A TLS connection has those of the TCP connection below it, which Node does not
   * name otherwise.
   */
  readonly #all = new Map<string, Connection>();
  readonly #ofClients = new Map<ClientSlot, Set<Connection>>();
  /** Those that were never used, and those that have no request any more. */
  readonly #silent = new Order<Connection>();
  readonly #idle = new Order<Connection>();

  constructor(parts: PoolParts<Connection>) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#all.size;
  }

  values(): Iterable<Connection> {
    return this.#all.values();
  }

  /** The connection below a TLS connection, or the connection itself; undefined if it is gone. */
  of(socket: Socket): Connection | undefined {
    return this.#all.get(keyOf(socket));
  }

  /**
   * Adds a connection that was just accepted; undefined if it was cut off.
   * @param client undefined for one without limits
   */
  admit(socket: Socket, client: string | undefined): Connection | undefined {
    const { clients, create } = this.#parts;
    const slot = client === undefined ? undefined : clients?.open.begin(client);
    if (!this.#isWithinClient(slot) || !this.#takePlace()) {
      if (slot !== undefined) clients!.open.end(slot);
      return void socket.destroy();
    }
    const connection = create(socket, slot);
    const stale = this.#all.get(connection.key);
    this.#all.set(connection.key, connection);
    // Its client has closed it, or could not have used the port again; Node notices a reset only while it
    // reads or writes.
    stale?.socket.destroy();
    this.#silent.append(connection);
    if (slot !== undefined) {
      const siblings = this.#ofClients.get(slot) ?? new Set();
      this.#ofClients.set(slot, siblings.add(connection));
    }
    socket.once("close", () => this.#release(connection));
    return connection;
  }

  /** Notes that a connection is active now. @param isUsed whether it counts as used from now on */
  touch(connection: Connection, isUsed = connection.isUsed): void {
    this.#orderOf(connection).remove(connection);
    connection.isUsed = isUsed;
    connection.activeAt = performance.now();
    if (connection.open === 0 && connection.isCounted) this.#orderOf(connection).append(connection);
  }

  /** A request begins. */
  began(connection: Connection, at: number): void {
    this.#orderOf(connection).remove(connection);
    connection.open++;
    connection.isUsed = true;
    connection.activeAt = at;
  }

  /** A request ends. */
  ended(connection: Connection): void {
    if (--connection.open === 0) this.touch(connection);
  }

  #isWithinClient(slot: ClientSlot | undefined): boolean {
    const { clients, counters } = this.#parts;
    if (slot === undefined || clients!.most === 0 || clients!.open.totalOf(slot) <= clients!.most)
      return true;
    counters.hit(clients!.limit);
    return this.#drop(this.#ofClients.get(slot) ?? []);
  }

  #takePlace(): boolean {
    const { all, counters } = this.#parts;
    if (all.open.begin(all.most)) return true;
    counters.hit(all.limit);
    const candidates = [this.#silent.oldest, this.#idle.oldest].filter((one) => one !== undefined);
    // Another thread may have taken the place.
    return this.#drop(candidates) && all.open.begin(all.most);
  }

  /** Closes the one of these that goes first; false if there is none. */
  #drop(candidates: Iterable<Connection>): boolean {
    const idlest = idlestOf(candidates);
    if (idlest === undefined) return false;
    this.#release(idlest);
    this.#parts.close(idlest);
    return true;
  }

  #orderOf({ isUsed }: Connection): Order<Connection> {
    return isUsed ? this.#idle : this.#silent;
  }

  /** Idempotent: a connection that was closed in favour of another one closes later. */
  #release(connection: Connection): void {
    if (!connection.isCounted) return;
    connection.isCounted = false;
    const { key, slot } = connection;
    // Not a newer one with the same addresses and ports.
    if (this.#all.get(key) === connection) this.#all.delete(key);
    this.#orderOf(connection).remove(connection);
    this.#parts.all.open.end();
    if (slot === undefined) return;
    this.#parts.clients!.open.end(slot);
    const siblings = this.#ofClients.get(slot);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.#ofClients.delete(slot);
  }
}

/**
 * The connection that goes first among those without a request in progress: one that was never used, else the
 * longest idle one.
 */
function idlestOf<Connection extends PooledConnection>(
  candidates: Iterable<Connection>,
): Connection | undefined {
  const silentSince = performance.now() - HANDSHAKE_GRACE;
  const isSilent = ({ isUsed, activeAt }: Connection) => !isUsed && activeAt < silentSince;
  let idlest: Connection | undefined;
  for (const connection of candidates) {
    if (connection.open > 0) continue;
    const goesFirst =
      idlest === undefined ||
      (isSilent(connection) === isSilent(idlest)
        ? connection.activeAt < idlest.activeAt
        : isSilent(connection));
    if (goesFirst) idlest = connection;
  }
  return idlest;
}

/**
 * Connections in the order in which they were added. A full pool needs the oldest for each new connection:
 * with 100,000 that takes 3 µs, and took 1.3 ms with a walk over all of them.
 */
class Order<Connection extends PooledConnection> {
  oldest: Connection | undefined;
  #newest: Connection | undefined;

  append(entry: Connection): void {
    entry.older = this.#newest;
    if (this.#newest === undefined) this.oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  /** Removes a connection, which is in no other order; nothing if it is in none. */
  remove(entry: Connection): void {
    const { older, newer } = entry;
    if (older === undefined && this.oldest !== entry) return;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}

function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
