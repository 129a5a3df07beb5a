import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { ServerLimits } from "../../../config/limits.ts";
import type { Http2Connection } from "../../../http2/connection.ts";
import { ErrorCode } from "../../../http2/protocol.ts";
import type { Http2Stream } from "../../../http2/stream.ts";
import { TokenBuckets } from "../../../limits/client-rate.ts";
import {
  closeConnection,
  type HeldConnection,
  HeldConnections,
  type ServerProtection,
} from "./connections.ts";

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
      held.activeAt = performance.now();
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
