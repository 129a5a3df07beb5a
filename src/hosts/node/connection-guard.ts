import type { Http2SecureServer, Http2ServerRequest, ServerHttp2Session } from "node:http2";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";

/** Bounds on what a connection may hold. Times in milliseconds. */
export interface ConnectionBounds {
  /** A request must be whole, headers and body, within this. */
  readonly requestTimeout: number;
  /** A connection without a new request for this long is closed. */
  readonly idleTimeout: number;
}

const SWEEP_INTERVAL = 1000;

/**
 * What Node's HTTP/2 server leaves open for ever: sessions that ask nothing (headers that never end
 * look the same), and request bodies that never end. Also knows every connection, to cut them off.
 */
export class ConnectionGuard {
  readonly #connections = new Set<Duplex>();
  readonly #lastRequest = new Map<ServerHttp2Session, number>();
  readonly #unfinished = new Map<Http2ServerRequest, number>();
  readonly #bounds: ConnectionBounds;
  readonly #finished: (this: Http2ServerRequest) => void;

  constructor(server: Server, bounds: ConnectionBounds) {
    this.#bounds = bounds;
    const unfinished = this.#unfinished;
    this.#finished = function () {
      unfinished.delete(this);
    };
    server.on("connection", (socket) => {
      this.#connections.add(socket);
      socket.once("close", () => this.#connections.delete(socket));
    });
    (server as Http2SecureServer).on("session", (session) => {
      this.#lastRequest.set(session, performance.now());
      session.once("close", () => this.#lastRequest.delete(session));
    });
    const sweeper = setInterval(() => this.#sweep(), SWEEP_INTERVAL).unref();
    server.once("close", () => clearInterval(sweeper));
  }

  /** Notes that a request began on an HTTP/2 session. */
  began(request: Http2ServerRequest): void {
    const now = performance.now();
    const { session } = request.stream;
    if (session !== undefined) this.#lastRequest.set(session as ServerHttp2Session, now);
    if (request.method === "GET" || request.method === "HEAD") return;
    this.#unfinished.set(request, now);
    request.once("end", this.#finished);
  }

  /** Cuts off every connection. */
  destroyAll(): void {
    for (const socket of this.#connections) socket.destroy();
  }

  #sweep(): void {
    const now = performance.now();
    for (const [request, began] of this.#unfinished) {
      if (!request.destroyed && now - began <= this.#bounds.requestTimeout) continue;
      this.#unfinished.delete(request);
      request.stream.destroy();
    }
    for (const [session, last] of this.#lastRequest)
      if (now - last > this.#bounds.idleTimeout) session.destroy();
  }
}
