import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { ServerLimits } from "../../../config/limits.ts";
import type { Http2Connection } from "../../../http2/connection.ts";
import { ErrorCode } from "../../../http2/protocol.ts";
import type { Http2Stream } from "../../../http2/stream.ts";
import {
  type ClientNetworks,
  type ClientRate,
  type TokenBucket,
  TokenBuckets,
} from "../../../limits/client-rate.ts";
import type { ConnectionErrors, Count, LimitCounters, RequestsInFlight } from "../../../limits/counters.ts";
import type { ClientSlot, SharedClientCounts } from "../../../limits/shared.ts";

/** A TCP connection and its state. Times are by `performance.now()`. */
export interface HeldConnection extends TableEntry, Ordered<HeldConnection> {
  /** Undefined for a client without limits. */
  readonly client: string | undefined;
  /** Where it is counted with its client. */
  readonly slot: ClientSlot | undefined;
  isCounted: boolean;
  /** When its last request began or ended; before that, its start or the start of HTTP/2. */
  activeAt: number;
  hasAsked: boolean;
  /** Requests in progress. */
  open: number;
  /** Undefined for HTTP/1.1, and before the handshake of TLS. */
  http2: Http2Connection | undefined;
  /** Whether it ends with its last response. */
  isEnding: boolean;
  /** Whether the client was sent a PING and has not answered it. */
  isProbed: boolean;
  /** Of streams that may be reset. */
  readonly resets: TokenBucket;
}

/**
 * After this time without a request, in milliseconds, a new connection is closed before idle ones: until then
 * it may be in its handshake.
 */
export const HANDSHAKE_GRACE = 1000;
/**
 * For so many connections that may be open, one more may be that was closed for another: it has sent GOAWAY,
 * and its client has a second to read that. Without this bound clients that open connections faster than they
 * close them would have as many sockets as they open in a second.
 */
const CONNECTIONS_PER_LEAVING = 100;

/**
 * The connections of one server in one thread. The limits count those of all threads. At a limit, of all
 * connections or of one client, it closes one of this thread that never had a request, else the longest idle
 * one, else the new one. So idle connections keep no client out, and no client loses an answer that it waits
 * for.
 */
export class HeldConnections {
  readonly #limits: ServerLimits;
  readonly #protection: ServerProtection;
  readonly #held = new ConnectionTable<HeldConnection>();
  readonly #ofClients = new Map<string, Set<HeldConnection>>();
  /** Those that never had a request, and those that have none any more. */
  readonly #silent = new Order<HeldConnection>();
  readonly #idle = new Order<HeldConnection>();
  /** The oldest first. */
  readonly #leaving = new Set<HeldConnection>();

  constructor(limits: ServerLimits, protection: ServerProtection) {
    this.#limits = limits;
    this.#protection = protection;
  }

  /** Adds a connection that was just accepted; undefined if it was cut off. */
  admit(socket: Socket): HeldConnection | undefined {
    const { connections, clients, counters } = this.#protection;
    const { connections: most, idleSeconds, streamResets } = this.#limits;
    const address = socket.remoteAddress;
    // It has closed already.
    if (address === undefined) return void socket.destroy();
    // It arrives again after a declined upgrade.
    const known = this.#held.of(socket);
    if (known?.socket === socket) return known;
    const client = clients?.networks.of(address);
    if (client !== undefined && clients!.rate.take(address) > 0) {
      counters.hit("clients.connectionsPerSecond");
      return void socket.destroy();
    }
    const siblings = client === undefined ? undefined : (this.#ofClients.get(client) ?? new Set());
    const slot = client === undefined ? undefined : clients!.open.begin(client);
    const reject = () => {
      if (slot !== undefined) clients!.open.end(slot);
      socket.destroy();
    };
    if (
      slot !== undefined &&
      clients!.connections > 0 &&
      clients!.open.totalOf(slot) > clients!.connections
    ) {
      counters.hit("clients.connections");
      if (!this.#drop(idlestOf(siblings!))) return void reject();
    }
    if (!connections.begin(most)) {
      counters.hit("limits.connections");
      // Another thread may have taken the place.
      if (!this.#drop(this.#idlest()) || !connections.begin(most)) return void reject();
    }
    const now = performance.now();
    const held: HeldConnection = {
      key: keyOf(socket),
      socket,
      client,
      slot,
      isCounted: true,
      activeAt: now,
      hasAsked: false,
      open: 0,
      http2: undefined,
      isEnding: false,
      isProbed: false,
      older: undefined,
      newer: undefined,
      resets: { tokens: streamResets, filledAt: now, refused: 0 },
    };
    this.#held.add(held);
    this.#silent.append(held);
    if (client !== undefined) this.#ofClients.set(client, siblings!.add(held));
    socket.once("close", () => {
      if (held.open === 0 && held.hasAsked && performance.now() - held.activeAt >= idleSeconds * 1000)
        counters.hit("limits.idleSeconds");
      this.#release(held);
    });
    return held;
  }

  /** The connection below a TLS connection or a session, which have its addresses and ports. */
  of(socket: Socket): HeldConnection | undefined {
    return this.#held.of(socket);
  }

  /** HTTP/2 begins: a connection had its handshake. */
  started(held: HeldConnection): void {
    held.activeAt = performance.now();
    if (!held.hasAsked) this.#silent.append(held);
  }

  /** A request begins. */
  began(held: HeldConnection, at: number): void {
    if (held.open++ === 0) this.#orderOf(held).remove(held);
    held.hasAsked = true;
    held.activeAt = at;
  }

  /** A request ends. */
  ended(held: HeldConnection): void {
    if (--held.open > 0) return;
    held.activeAt = performance.now();
    if (held.isCounted) this.#idle.append(held);
  }

  all(): Iterable<HeldConnection> {
    return this.#held.values();
  }

  #orderOf({ hasAsked }: HeldConnection): Order<HeldConnection> {
    return hasAsked ? this.#idle : this.#silent;
  }

  #release(held: HeldConnection): void {
    this.#held.delete(held);
    this.#orderOf(held).remove(held);
    if (held.isCounted) {
      held.isCounted = false;
      this.#protection.connections.end();
      if (held.slot !== undefined) this.#protection.clients!.open.end(held.slot);
    }
    const siblings = held.client === undefined ? undefined : this.#ofClients.get(held.client);
    if (siblings?.delete(held) && siblings.size === 0) this.#ofClients.delete(held.client!);
  }

  #idlest(): HeldConnection | undefined {
    return idlestOf([this.#silent.oldest, this.#idle.oldest].filter((held) => held !== undefined));
  }

  /** Closes a connection; false if there is none. */
  #drop(idlest: HeldConnection | undefined): boolean {
    if (idlest === undefined) return false;
    closeConnection(idlest);
    this.#release(idlest);
    if (!idlest.socket.destroyed) this.#leave(idlest);
    return true;
  }

  /**
   * Bounds the connections that no longer count although their sockets are open: for one more, the oldest is
   * cut off.
   */
  #leave(held: HeldConnection): void {
    const { leaving } = this.#protection;
    const mostLeaving = Math.ceil(this.#limits.connections / CONNECTIONS_PER_LEAVING);
    if (!leaving.begin(mostLeaving)) {
      const [oldest] = this.#leaving;
      if (oldest !== undefined) {
        oldest.socket.destroy();
        this.#left(oldest);
      }
      // Another thread may have all of them.
      if (!leaving.begin(mostLeaving)) return void held.socket.destroy();
    }
    this.#leaving.add(held);
    held.socket.once("close", () => this.#left(held));
  }

  #left(held: HeldConnection): void {
    if (this.#leaving.delete(held)) this.#protection.leaving.end();
  }
}

/**
 * The connection that goes first among those without a request in progress: one that never had one, else the
 * longest idle one.
 */
function idlestOf(candidates: Iterable<HeldConnection>): HeldConnection | undefined {
  const silentSince = performance.now() - HANDSHAKE_GRACE;
  const isSilent = ({ hasAsked, activeAt }: HeldConnection) => !hasAsked && activeAt < silentSince;
  let idlest: HeldConnection | undefined;
  for (const held of candidates) {
    if (held.open > 0) continue;
    const goesFirst =
      idlest === undefined ||
      (isSilent(held) === isSilent(idlest) ? held.activeAt < idlest.activeAt : isSilent(held));
    if (goesFirst) idlest = held;
  }
  return idlest;
}

/** Closes a connection, over HTTP/2 with a GOAWAY. */
function closeConnection({ http2, socket }: HeldConnection): void {
  if (http2 === undefined) socket.destroy();
  else http2.end(ErrorCode.NO_ERROR);
}

/** A TCP connection in the table. */
export interface TableEntry {
  /** From `keyOf()` when the connection was accepted: a socket that is closed has no addresses. */
  readonly key: string;
  readonly socket: Socket;
}

/**
 * The open TCP connections of a server, by addresses and ports. A TLS connection and an HTTP/2 session have
 * those of the TCP connection below them, which Node does not name otherwise.
 */
export class ConnectionTable<Entry extends TableEntry> {
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Adds a connection and destroys an older one with the same addresses and ports. The older one's client has
   * closed it, or could not have used the port again; Node notices a reset only while it reads or writes.
   */
  add(entry: Entry): void {
    const stale = this.#entries.get(entry.key);
    this.#entries.set(entry.key, entry);
    stale?.socket.destroy();
  }

  /** The connection below a TLS connection or a session, or the connection itself. */
  of(socket: Socket): Entry | undefined {
    return this.#entries.get(keyOf(socket));
  }

  /** Removes a connection, but not a newer one with the same address and port. */
  delete(entry: Entry): void {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
  }

  values(): Iterable<Entry> {
    return this.#entries.values();
  }
}

/** An entry of an order, linked to its neighbours. */
export interface Ordered<Entry> {
  older: Entry | undefined;
  newer: Entry | undefined;
}

/**
 * Entries in the order in which they were added, or moved to the end. A full table needs the oldest for each
 * new connection: with 100,000 that takes 3 µs, and took 1.3 ms with a walk over all of them.
 */
export class Order<Entry extends Ordered<Entry>> {
  oldest: Entry | undefined;
  #newest: Entry | undefined;

  /** Adds an entry, or moves it to the end. */
  append(entry: Entry): void {
    this.remove(entry);
    entry.older = this.#newest;
    if (this.#newest === undefined) this.oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  /** Removes an entry, which is in no other order; nothing if it is in none. */
  remove(entry: Entry): void {
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

export function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/** The limits on the connections of each client. */
interface ClientConnections {
  readonly networks: ClientNetworks;
  /** Open connections; 0 for any number. */
  readonly connections: number;
  /** Those that are open, in all threads. */
  readonly open: SharedClientCounts;
  /** New connections. */
  readonly rate: ClientRate;
}

/** The counters and limits that a server shares with others, and with those of other threads. */
export interface ServerProtection {
  readonly counters: LimitCounters;
  readonly errors: ConnectionErrors;
  readonly requests: RequestsInFlight;
  /** The open connections, in all threads. */
  readonly connections: Count;
  /** Those that were closed for others, and whose clients have not closed them yet, in all threads. */
  readonly leaving: Count;
  /** Undefined: no limits per client. */
  readonly clients: ClientConnections | undefined;
}

const SWEEP_INTERVAL = 1000;
/** The part of all requests in flight that one client may have. */
const SHARE_OF_CLIENT = 1 / 20;
/** A response that its client does not read counts as a request for each of so many bytes that it holds. */
const BYTES_OF_PLACE = 16 * 1024;
/** How long a client may take to answer a PING, in milliseconds. */
const PROBE_TIMEOUT = 2000;

/**
 * Limits of all connections together, and in time: the number of connections and requests, connections
 * without requests (headers that never end look the same), request bodies that never end, responses that
 * clients do not read, streams that are reset again and again.
 */
export class ConnectionGuard {
  readonly #limits: ServerLimits;
  readonly #protection: ServerProtection;
  readonly #held: HeldConnections;
  readonly #resets: TokenBuckets;
  readonly #mostOfClient: number;
  /** The places of responses that wait for their clients, beside those of their requests. */
  readonly #waiting = new Map<Http2Stream, number>();
  /** Responses over HTTP/1.1 in progress with the times at which their requests began, the oldest first. */
  readonly #responses = new Map<ServerResponse, number>();
  readonly #sweeper: NodeJS.Timeout;
  #isStopping = false;

  constructor(limits: ServerLimits, protection: ServerProtection) {
    this.#limits = limits;
    this.#protection = protection;
    const { streamResets, streamResetsPerSecond: perSecond } = limits;
    this.#resets = new TokenBuckets({ perSecond, burst: streamResets }, 1, () => performance.now());
    this.#held = new HeldConnections(limits, protection);
    this.#mostOfClient = Math.max(
      limits.streamsPerConnection,
      Math.ceil(limits.requestsInFlight * SHARE_OF_CLIENT),
    );
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_INTERVAL).unref();
  }

  /** Watches a server's connections. */
  watch(server: Server): void {
    server.on("connection", (socket) => this.#held.admit(socket));
  }

  /** The connection below one of TLS; undefined if it is gone. */
  heldBelow(socket: Socket): HeldConnection | undefined {
    return this.#held.of(socket);
  }

  /** From now on connections end with the last response. */
  stop(): void {
    this.#isStopping = true;
    this.endConnections();
  }

  /**
   * Ends open connections with their last responses: HTTP/2 announces it. The caller closes idle ones of
   * HTTP/1.1.
   */
  endConnections(): void {
    for (const held of this.#held.all()) {
      held.isEnding = true;
      if (held.http2 !== undefined) held.http2.goAway();
      // Without a request, perhaps in its handshake: Node does not count it as idle. While the server goes
      // on, it ends with its first response, or by `limits.requestSeconds`.
      else if (!held.hasAsked && this.#isStopping) held.socket.destroy();
    }
  }

  /** Stops watching. */
  close(): void {
    clearInterval(this.#sweeper);
  }

  /** Notes that a connection speaks HTTP/2. */
  started(held: HeldConnection, http2: Http2Connection): void {
    held.http2 = http2;
    this.#held.started(held);
    if (this.#isStopping || held.isEnding) http2.goAway();
  }

  /** Notes that a request began on an HTTP/2 stream; false where there is no place for it. */
  began(held: HeldConnection, stream: Http2Stream): boolean {
    this.#held.began(held, stream.beganAt);
    if (!this.#takePlace(held)) {
      this.#held.ended(held);
      // The gateway has not processed it: the client may send it again (RFC 9113 section 8.7).
      stream.reset(ErrorCode.REFUSED_STREAM);
      return false;
    }
    if (held.open === this.#limits.streamsPerConnection)
      this.#protection.counters.hit("limits.streamsPerConnection");
    return true;
  }

  /** Notes that a response waits for its client. @param bytes that it holds */
  waits(held: HeldConnection, stream: Http2Stream, bytes: number): void {
    const places = Math.floor(bytes / BYTES_OF_PLACE);
    if (places === 0) return;
    this.#waiting.set(stream, places);
    this.#protection.requests.hold(places);
    this.#countOfClient(held, places);
  }

  /** Notes that the stream of a request closed. */
  ended(held: HeldConnection, stream: Http2Stream): void {
    this.#held.ended(held);
    const places = 1 + (this.#waiting.get(stream) ?? 0);
    if (places > 1) this.#waiting.delete(stream);
    this.#protection.requests.end(places);
    this.#countOfClient(held, -places);
  }

  /** Takes a place for a request; false where the client has its share, or all are taken. */
  #takePlace(held: HeldConnection | undefined): boolean {
    const { counters, requests, clients } = this.#protection;
    const slot = held?.slot;
    const isInShare = slot === undefined || clients!.open.requestsOf(slot) < this.#mostOfClient;
    if (!isInShare || !requests.begin()) {
      counters.hit("limits.requestsInFlight");
      return false;
    }
    this.#countOfClient(held, 1);
    return true;
  }

  #countOfClient(held: HeldConnection | undefined, places: number): void {
    if (held?.slot !== undefined) this.#protection.clients!.open.addRequests(held.slot, places);
  }

  /**
   * Notes that a client made a stream be reset; RFC 9113 section 10.5: one that repeats it loses its
   * connection.
   */
  reset(held: HeldConnection): void {
    if (this.#resets.take(held.resets) === 0) return;
    this.#protection.counters.hit("limits.streamResets");
    held.http2?.end(ErrorCode.ENHANCE_YOUR_CALM, "too many streams were reset");
  }

  /** Notes that a request began over HTTP/1.1; false where there is no place for it. */
  beganPlain({ socket }: IncomingMessage, outgoing: ServerResponse): boolean {
    const held = this.#held.of(socket);
    if (!this.#takePlace(held)) return false;
    const now = performance.now();
    if (held !== undefined) this.#held.began(held, now);
    this.#responses.set(outgoing, now);
    outgoing.once("close", () => {
      this.#protection.requests.end();
      this.#countOfClient(held, -1);
      this.#responses.delete(outgoing);
      if (held === undefined) return;
      this.#held.ended(held);
      if ((this.#isStopping || held.isEnding) && held.open === 0) socket.destroySoon();
    });
    return true;
  }

  /** Cuts off every connection. */
  destroyAll(): void {
    for (const { socket } of this.#held.all()) socket.destroy();
  }

  /**
   * Ends a connection whose client disappeared unnoticed by Node: a living client answers a PING by itself.
   */
  #probe(held: HeldConnection): void {
    if (held.isProbed) return;
    held.isProbed = true;
    const timer = setTimeout(() => closeConnection(held), PROBE_TIMEOUT).unref();
    held.http2?.ping(() => {
      clearTimeout(timer);
      held.isProbed = false;
    });
  }

  #sweep(): void {
    const { handshakeSeconds, requestSeconds, responseSeconds, idleSeconds } = this.#limits;
    const requestTimeout = requestSeconds * 1000;
    const idleTimeout = idleSeconds * 1000;
    const unseen = handshakeSeconds * 1000 + requestTimeout + idleTimeout;
    const { counters } = this.#protection;
    const now = performance.now();
    for (const [outgoing, began] of this.#responses) {
      if (now - began <= responseSeconds * 1000) break;
      counters.hit("limits.responseSeconds");
      outgoing.destroy();
    }
    for (const held of this.#held.all()) {
      const { http2, hasAsked, open, activeAt } = held;
      if (http2 !== undefined) this.#sweepStreams(held, http2, now);
      if (http2 !== undefined && http2.stalledFor(now) > idleTimeout) {
        counters.hit("limits.responseSeconds");
        closeConnection(held);
        continue;
      }
      if (open > 0) continue;
      if (http2 === undefined) {
        // Node itself limits handshakes and HTTP/1.1, unless the client disappeared unnoticed.
        if (now - activeAt > unseen) held.socket.destroy();
        continue;
      }
      if (hasAsked ? now - activeAt <= idleTimeout : now - activeAt <= requestTimeout) continue;
      if (!hasAsked) counters.hit("limits.requestSeconds");
      closeConnection(held);
    }
  }

  #sweepStreams(held: HeldConnection, http2: Http2Connection, now: number): void {
    const { requestSeconds, responseSeconds } = this.#limits;
    const { counters } = this.#protection;
    for (const stream of http2.streams()) {
      const age = now - stream.beganAt;
      if (age <= requestSeconds * 1000 && age <= responseSeconds * 1000) break;
      if (!stream.remoteEnded && age > requestSeconds * 1000) {
        counters.hit("limits.requestSeconds");
        this.#probe(held);
      } else if (age > responseSeconds * 1000) counters.hit("limits.responseSeconds");
      else continue;
      stream.reset(ErrorCode.CANCEL);
    }
  }
}
