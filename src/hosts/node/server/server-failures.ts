import type { Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionErrors, Limit, LimitCounters } from "../../../limits/counters.ts";

interface ServerFailure extends Error {
  readonly code?: string;
  readonly errno?: number;
}

/** Node's errors of connections over HTTP/1.1, and the responses to the client. */
const PLAIN: Readonly<Record<string, readonly [string, Limit]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "limits.requestSeconds"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "limits.headerBytes"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ["413 Payload Too Large", "limits.headerBytes"],
};

/** Of a response without a body after which the connection ends. */
const LAST_FIELDS = "Connection: close\r\nCache-Control: no-store\r\nContent-Length: 0";

const HTTPS_REQUIRED_BODY = `${JSON.stringify({
  code: "HTTPS_REQUIRED",
  message: "this port speaks HTTPS: begin the address with https://",
})}\n`;

/** The answer to plain HTTP at a port for TLS. */
const HTTPS_REQUIRED = [
  "HTTP/1.1 400 Bad Request",
  "Content-Type: application/json",
  `Content-Length: ${HTTPS_REQUIRED_BODY.length}`,
  "Cache-Control: no-store",
  "Connection: close",
  "",
  HTTPS_REQUIRED_BODY,
].join("\r\n");

/**
 * Handles every error of a server's connections from their start, before other code uses them: an `error` event
 * without a listener ends the process. Counts the connections that Node ends because of a limit.
 */
export function takeFailures(server: HttpServer, errors: ConnectionErrors, counters: LimitCounters): void {
  const { listeners } = errors;
  // A connection arrives again after a declined upgrade.
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
  // For example, out of file descriptors: existing connections continue.
  server.on("error", listeners.server);
  server.prependListener("tlsClientError", (error: ServerFailure, socket: Duplex) => {
    listeners.tls(error);
    if (error.code === "ERR_TLS_HANDSHAKE_TIMEOUT") counters.hit("limits.handshakeSeconds");
    // The connection below TLS, which Node keeps in no public member.
    if (error.code === "ERR_SSL_HTTP_REQUEST") (socket as { _parent?: Socket })._parent?.end(HTTPS_REQUIRED);
    socket.destroy();
  });
  // If there is a listener, Node leaves the response to it.
  server.on("clientError", (error: ServerFailure, socket: Duplex) => {
    // The connection has failed already; Node reports errors of a TLS handshake here, too.
    if (socket.writableEnded || socket.destroyed) return;
    listeners.http1(error);
    const { code } = error;
    const [status, limit] = PLAIN[code ?? ""] ?? ["400 Bad Request"];
    if (limit !== undefined) counters.hit(limit);
    // An error response must not start in the middle of another response.
    const response = (socket as Socket & { _httpMessage?: { _headerSent?: boolean } | null })._httpMessage;
    if (socket.writable && !response?._headerSent)
      socket.write(`HTTP/1.1 ${status}\r\n${LAST_FIELDS}\r\n\r\n`);
    (socket as Socket).destroySoon();
  });
}
