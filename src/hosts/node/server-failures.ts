import type { Server as HttpServer } from "node:http";
import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Limit, LimitCounters } from "../../limits/limit-counters.ts";

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

/** Counts what Node's servers end because of a limit. Handshakes that fail and clients that vanish are a network's daily life. */
export function countFailures(server: HttpServer | Http2SecureServer, counters: LimitCounters): void {
  server.on("tlsClientError", ({ code }: ServerFailure, socket: Duplex) => {
    if (code === "ERR_TLS_HANDSHAKE_TIMEOUT") counters.hit("limits.handshakeSeconds");
    socket.destroy();
  });
  server.on("sessionError", ({ code, errno }: ServerFailure) => {
    if (code === "ERR_HTTP2_TOO_MANY_INVALID_FRAMES" || FLOODS.has(errno)) counters.hit("http2");
  });
  // With a listener Node leaves the response to it.
  server.on("clientError", ({ code }: ServerFailure, socket: Duplex) => {
    const [status, limit] = PLAIN[code ?? ""] ?? ["400 Bad Request", undefined];
    if (limit !== undefined) counters.hit(limit);
    // Nothing may be written into the middle of another response.
    const response = (socket as Socket & { _httpMessage?: { _headerSent?: boolean } | null })._httpMessage;
    if (socket.writable && !response?._headerSent)
      socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    (socket as Socket).destroySoon();
  });
}
