import type { Http2SecureServer, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
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
  readonly #unfinished = new Map<ServerHttp2Stream, number>();
  readonly #bounds: ConnectionBounds;
  readonly #finished: (this: ServerHttp2Stream) => void;

  constructor(server: Server, bounds: ConnectionBounds) {
    this.#bounds = bounds;
    const unfinished = this.#unfinished;
    this.#finished = function (this: ServerHttp2Stream) {
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
  began(stream: ServerHttp2Stream, method: string | undefined): void {
    const now = performance.now();
    const { session } = stream;
    if (session !== undefined) this.#lastRequest.set(session as ServerHttp2Session, now);
    if (method === "GET" || method === "HEAD") return;
    this.#unfinished.set(stream, now);
    stream.once("end", this.#finished);
  }

  /** Cuts off every connection. */
  destroyAll(): void {
    for (const socket of this.#connections) socket.destroy();
  }

  #sweep(): void {
    const now = performance.now();
    for (const [stream, began] of this.#unfinished) {
      if (!stream.destroyed && now - began <= this.#bounds.requestTimeout) continue;
      this.#unfinished.delete(stream);
      stream.destroy();
    }
    for (const [session, last] of this.#lastRequest)
      if (now - last > this.#bounds.idleTimeout) session.destroy();
  }
}
