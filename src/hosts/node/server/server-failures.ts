import type { Server as HttpServer } from "node:http";
import type { Http2SecureServer, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionErrors } from "../../../limits/connection-errors.ts";
import type { Limit, LimitCounters } from "../../../limits/limit-counters.ts";

interface ServerFailure extends Error {
  readonly code?: string;
  readonly errno?: number;
}

/** What Node says of a connection over HTTP/1.1, and what the client is told then. */
const PLAIN: Readonly<Record<string, readonly [string, Limit]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "limits.requestSeconds"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "limits.headerBytes"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ["413 Payload Too Large", "limits.headerBytes"],
};

/** nghttp2's errors for connections that it ended by bounds of its own: frames that have to be answered, CONTINUATION frames. */
const FLOODS: ReadonlySet<number | undefined> = new Set([-904, -905]);

/**
 * Takes every error of a server's connections from the moment each exists, before anything else looks at it: an `error` event
 * without a listener ends the process. Counts what Node ends because of a limit.
 */
export function takeFailures(
  server: HttpServer | Http2SecureServer,
  errors: ConnectionErrors,
  counters: LimitCounters,
): void {
  const { listeners } = errors;
  // A connection comes again after an upgrade that was declined.
  const listen = (socket: Socket, listener: (error: Error) => void) =>
    socket.off("error", listener).on("error", listener);
  server.prependListener("connection", (socket: Socket) => listen(socket, listeners.tcp));
  // Node reports an error of a TLS connection without ending it.
  const end = function (this: Socket) {
    this.destroy();
  };
  server.prependListener("secureConnection", (socket: Socket) => {
    listen(socket, listeners.tls);
    listen(socket, end);
  });
  server.prependListener("session", (session: ServerHttp2Session) =>
    session.on("error", listeners.http2_session),
  );
  // Such as no file descriptor for one more connection: those that are there go on.
  server.on("error", listeners.server);
  server.prependListener("tlsClientError", (error: ServerFailure, socket: Duplex) => {
    listeners.tls(error);
    if (error.code === "ERR_TLS_HANDSHAKE_TIMEOUT") counters.hit("limits.handshakeSeconds");
    socket.destroy();
  });
  server.on("sessionError", ({ code, errno }: ServerFailure) => {
    if (code === "ERR_HTTP2_TOO_MANY_INVALID_FRAMES" || FLOODS.has(errno)) counters.hit("http2");
  });
  // With a listener Node leaves the response to it.
  server.on("clientError", (error: ServerFailure, socket: Duplex) => {
    // The connection has failed already; Node reports errors of a TLS handshake here, too.
    if (socket.writableEnded || socket.destroyed) return;
    listeners.http1(error);
    const { code } = error;
    const [status, limit] = PLAIN[code ?? ""] ?? ["400 Bad Request"];
    if (limit !== undefined) counters.hit(limit);
    // Nothing may be written into the middle of another response.
    const response = (socket as Socket & { _httpMessage?: { _headerSent?: boolean } | null })._httpMessage;
    if (socket.writable && !response?._headerSent)
      socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    (socket as Socket).destroySoon();
  });
}
