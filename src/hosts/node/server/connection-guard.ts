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
    const { counters, requests } = this.#protection;
    this.#held.began(held, stream.beganAt);
    if (!requests.begin()) {
      this.#held.ended(held);
      counters.hit("limits.requestsInFlight");
      // The gateway has not processed it: the client may send it again (RFC 9113 section 8.7).
      stream.reset(ErrorCode.REFUSED_STREAM);
      return false;
    }
    if (held.open === this.#limits.streamsPerConnection) counters.hit("limits.streamsPerConnection");
    return true;
  }

  /** Notes that the stream of a request closed. */
  ended(held: HeldConnection): void {
    this.#held.ended(held);
    this.#protection.requests.end();
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
    const { counters, requests } = this.#protection;
    if (!requests.begin()) {
      counters.hit("limits.requestsInFlight");
      return false;
    }
    const held = this.#held.of(socket);
    const now = performance.now();
    if (held !== undefined) this.#held.began(held, now);
    this.#responses.set(outgoing, now);
    outgoing.once("close", () => {
      requests.end();
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
