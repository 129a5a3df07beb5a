import type { IncomingMessage, ServerResponse } from "node:http";
import {
  constants,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Server, Socket } from "node:net";
import type { ServerLimits } from "../../../config/limits/server-limits.ts";
import { TokenBuckets } from "../../../limits/token-buckets.ts";
import { type HeldConnection, HeldConnections, letGo } from "./held-connections.ts";
import { RequestsByAge } from "./requests-by-age.ts";
import type { ServerProtection } from "./server-protection.ts";

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const SWEEP_INTERVAL = 1000;
/** How long a client may take to answer a PING, in milliseconds. */
const PROBE_TIMEOUT = 2000;

/**
 * Limits that Node's servers lack: the number of connections and requests, HTTP/2 sessions without requests (headers that never
 * end look the same), request bodies that never end, responses that clients do not read, streams that are reset again and again.
 */
export class ConnectionGuard {
  readonly #limits: ServerLimits;
  readonly #protection: ServerProtection;
  readonly #held: HeldConnections;
  readonly #resets: TokenBuckets;
  readonly #bySession = new WeakMap<ServerHttp2Session, HeldConnection>();
  readonly #requests = new RequestsByAge();
  readonly #unfinished = new Map<ServerHttp2Stream, number>();
  readonly #finished: (this: ServerHttp2Stream) => void;
  readonly #sweeper: NodeJS.Timeout;
  #isStopping = false;

  constructor(limits: ServerLimits, protection: ServerProtection) {
    this.#limits = limits;
    this.#protection = protection;
    const { streamResets: burst, streamResetsPerSecond: perSecond } = limits;
    this.#resets = new TokenBuckets({ perSecond, burst }, 1, () => performance.now());
    const unfinished = this.#unfinished;
    this.#finished = function (this: ServerHttp2Stream) {
      unfinished.delete(this);
    };
    const { connections, idleSeconds } = limits;
    this.#held = new HeldConnections({ connections, idleSeconds, ...protection });
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_INTERVAL).unref();
  }

  /** Watches a server's connections. */
  watch(server: Server): void {
    server.on("connection", (socket) => this.#held.admit(socket));
    (server as Http2SecureServer).on("session", (session) => this.#started(session));
  }

  /** From now on an HTTP/1.1 connection ends with its response: Node would leave it open until its client closes it. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Stops watching. */
  close(): void {
    clearInterval(this.#sweeper);
  }

  /** Notes that a request began on an HTTP/2 stream; false where there is no place for it. */
  began(stream: ServerHttp2Stream, method: string | undefined): boolean {
    const held = this.#bySession.get(stream.session as ServerHttp2Session);
    // The connection is gone.
    if (held === undefined) return false;
    const now = performance.now();
    held.activeAt = now;
    held.hasAsked = true;
    const { counters, requests } = this.#protection;
    if (!requests.begin()) {
      counters.hit("limits.requestsInFlight");
      // The gateway has not processed it: the client may send it again (RFC 9113 section 8.7).
      stream.close(NGHTTP2_REFUSED_STREAM);
      return false;
    }
    const { streamsPerConnection } = this.#limits;
    if (++held.open === streamsPerConnection) counters.hit("limits.streamsPerConnection");
    // Streams that were reset along with others in one read are closed only later.
    else if (held.open > 2 * streamsPerConnection) held.onReset();
    this.#requests.begin(stream, now);
    stream.on("close", held.onStreamClose);
    if (method !== "GET" && method !== "HEAD") {
      this.#unfinished.set(stream, now);
      stream.once("end", this.#finished);
    }
    return true;
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
    if (held !== undefined) {
      held.activeAt = now;
      held.hasAsked = true;
      held.open++;
    }
    this.#requests.begin(outgoing, now);
    outgoing.once("close", () => {
      requests.end();
      this.#requests.end(outgoing);
      if (held === undefined) return;
      held.open--;
      held.activeAt = performance.now();
      if (this.#isStopping && held.open === 0) socket.destroySoon();
    });
    return true;
  }

  /** Cuts off every connection. */
  destroyAll(): void {
    for (const { socket } of this.#held.all()) socket.destroy();
  }

  #started(session: ServerHttp2Session): void {
    const held = this.#held.of(session.socket as Socket);
    if (held === undefined) {
      session.destroy();
      return;
    }
    held.session = session;
    held.activeAt = performance.now();
    this.#bySession.set(session, held);
    const { requests } = this.#protection;
    const inProgress = this.#requests;
    const unfinished = this.#unfinished;
    const bucket = { tokens: this.#limits.streamResets, filledAt: performance.now(), refused: 0 };
    held.onReset = () => {
      if (this.#resets.take(bucket) === 0 || session.destroyed) return;
      this.#protection.counters.hit("limits.streamResets");
      // RFC 9113 section 10.5: a client that opens streams only to reset them.
      session.goaway(NGHTTP2_ENHANCE_YOUR_CALM);
      letGo(held);
    };
    // One listener for all streams of a connection: it costs no closure for each.
    held.onStreamClose = function (this: ServerHttp2Stream) {
      held.open--;
      requests.end();
      inProgress.end(this);
      unfinished.delete(this);
      if (this.rstCode !== NGHTTP2_NO_ERROR) held.onReset();
    };
  }

  /** Ends a connection whose client disappeared unnoticed by Node: a living client answers a PING by itself. */
  #probe(session: ServerHttp2Session): void {
    const held = this.#bySession.get(session);
    if (held === undefined || held.isProbed) return;
    held.isProbed = true;
    const timer = setTimeout(() => letGo(held), PROBE_TIMEOUT).unref();
    session.ping(() => {
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
    for (const [stream, began] of this.#unfinished) {
      if (now - began <= requestTimeout) break;
      this.#unfinished.delete(stream);
      if (stream.destroyed) continue;
      counters.hit("limits.requestSeconds");
      this.#probe(stream.session as ServerHttp2Session);
      stream.destroy();
    }
    for (const request of this.#requests.takeBefore(now - responseSeconds * 1000)) {
      counters.hit("limits.responseSeconds");
      if ("rstCode" in request) request.close(NGHTTP2_CANCEL);
      request.destroy();
    }
    for (const held of this.#held.all()) {
      const { session, hasAsked, open, activeAt } = held;
      if (open > 0) continue;
      if (session === undefined) {
        // Node itself limits handshakes and HTTP/1.1, unless the client disappeared unnoticed.
        if (now - activeAt > unseen) held.socket.destroy();
        continue;
      }
      if (hasAsked ? now - activeAt <= idleTimeout : now - activeAt <= requestTimeout) continue;
      if (!hasAsked) counters.hit("limits.requestSeconds");
      letGo(held);
    }
  }
}
