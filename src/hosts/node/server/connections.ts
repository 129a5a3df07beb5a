import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
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
import { ConnectionPool, PooledConnection } from "./connection-pool.ts";

/** A connection for HTTP. */
export class HeldConnection extends PooledConnection {
  /** Undefined for HTTP/1.1, and before the handshake of TLS. */
  http2: Http2Connection | undefined;
  /** Whether it ends with its last response. */
  isEnding = false;
  /** Whether the client was sent a PING and has not answered it. */
  isProbed = false;
  /** Of streams that may be reset. */
  readonly resets: TokenBucket;

  constructor(socket: Socket, slot: ClientSlot | undefined, streamResets: number) {
    super(socket, slot);
    this.resets = { tokens: streamResets, filledAt: this.activeAt, refused: 0 };
  }
}

/** Closes a connection, over HTTP/2 with a GOAWAY. */
function closeConnection({ http2, socket }: HeldConnection): void {
  if (http2 === undefined) socket.destroy();
  else http2.end(ErrorCode.NO_ERROR);
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

/**
 * For so many connections that may be open, one more may be that was closed for another: it has sent GOAWAY,
 * and its client has a second to read that. Without this bound clients that open connections faster than they
 * close them would have as many sockets as they open in a second.
 */
const CONNECTIONS_PER_LEAVING = 100;
/**
 * Requests in progress on one connection over HTTP/1.1: Node reads on, whatever their number, and the
 * responses would wait for a client that reads none.
 */
const MOST_PIPELINED = 16;
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
  readonly #pool: ConnectionPool<HeldConnection>;
  /** Connections that were closed for others, and are open yet; the oldest first. */
  readonly #leaving = new Set<HeldConnection>();
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
    const { counters, connections, clients } = protection;
    this.#pool = new ConnectionPool({
      counters,
      all: { limit: "limits.connections", most: limits.connections, open: connections },
      clients: clients && { limit: "clients.connections", most: clients.connections, open: clients.open },
      create: (socket, slot) => new HeldConnection(socket, slot, streamResets),
      close: (held) => this.#leave(held),
    });
    this.#mostOfClient = Math.max(
      limits.streamsPerConnection,
      Math.ceil(limits.requestsInFlight * SHARE_OF_CLIENT),
    );
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_INTERVAL).unref();
  }

  /** Admits a connection that was just accepted, or closes it. */
  readonly admit = (socket: Socket): void => {
    const { clients, counters } = this.#protection;
    const address = socket.remoteAddress;
    // It has closed already.
    if (address === undefined) return void socket.destroy();
    const client = clients?.networks.of(address);
    if (client !== undefined && clients!.rate.take(address) > 0) {
      counters.hit("clients.connectionsPerSecond");
      return void socket.destroy();
    }
    const held = this.#pool.admit(socket, client);
    if (held === undefined) return;
    const idleTimeout = this.#limits.idleSeconds * 1000;
    socket.once("close", () => {
      if (held.open === 0 && held.isUsed && performance.now() - held.activeAt >= idleTimeout)
        counters.hit("limits.idleSeconds");
    });
  };

  /**
   * Closes a connection for another one. Its client has time to read that, but those whose sockets are open
   * although they no longer count are bounded: for one more, the oldest is cut off.
   */
  #leave(held: HeldConnection): void {
    closeConnection(held);
    if (held.socket.destroyed) return;
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

  /** The connection below one of TLS; undefined if it is gone. */
  heldBelow(socket: Socket): HeldConnection | undefined {
    return this.#pool.of(socket);
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
    for (const held of this.#pool.values()) {
      held.isEnding = true;
      if (held.http2 !== undefined) held.http2.goAway();
      // Without a request, perhaps in its handshake: Node does not count it as idle. While the server goes
      // on, it ends with its first response, or by `limits.requestSeconds`.
      else if (!held.isUsed && this.#isStopping) held.socket.destroy();
    }
  }

  /** Stops watching. */
  close(): void {
    clearInterval(this.#sweeper);
  }

  /** Notes that a connection speaks HTTP/2. */
  started(held: HeldConnection, http2: Http2Connection): void {
    held.http2 = http2;
    this.#pool.touch(held);
    if (this.#isStopping || held.isEnding) http2.goAway();
  }

  /** Notes that a request began on an HTTP/2 stream; false where there is no place for it. */
  began(held: HeldConnection, stream: Http2Stream): boolean {
    this.#pool.began(held, stream.beganAt);
    if (!this.#takePlace(held)) {
      this.#pool.ended(held);
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
    this.#pool.ended(held);
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
    const held = this.#pool.of(socket);
    if (held !== undefined && held.open >= MOST_PIPELINED) {
      this.#protection.counters.hit("http1");
      socket.destroy();
      return false;
    }
    const hasPlace = this.#takePlace(held);
    const now = performance.now();
    if (held !== undefined) this.#pool.began(held, now);
    this.#responses.set(outgoing, now);
    outgoing.once("close", () => {
      if (hasPlace) {
        this.#protection.requests.end();
        this.#countOfClient(held, -1);
      }
      this.#responses.delete(outgoing);
      if (held === undefined) return;
      this.#pool.ended(held);
      if ((this.#isStopping || held.isEnding) && held.open === 0) socket.destroySoon();
    });
    return hasPlace;
  }

  /** Cuts off every connection. */
  destroyAll(): void {
    for (const { socket } of this.#pool.values()) socket.destroy();
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
    for (const held of this.#pool.values()) {
      const { http2, isUsed, open, activeAt } = held;
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
      if (isUsed ? now - activeAt <= idleTimeout : now - activeAt <= requestTimeout) continue;
      if (!isUsed) counters.hit("limits.requestSeconds");
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
