import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, type Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { ServerLimits } from "../../../config/limits.ts";
import type { ListenAddress } from "../../../config/values.ts";
import type { HttpResponse } from "../../../http/messages/message.ts";
import type { ConnectionErrors, Limit, LimitCounters } from "../../../limits/counters.ts";
import { asOneListener, type Listener, listen, listenOnAll, stopServer } from "../listen.ts";
import { misdirectedFrom, negotiate, type ServerTls, secureContext } from "../tls.ts";
import { ConnectionGuard, type ServerProtection } from "./connections.ts";
import { Http1Request, readThroughSocket } from "./http1.ts";
import {
  type AnsweringParts,
  type Application,
  answerByFetch,
  answerHttp2,
  answerRequest,
  type FetchHandler,
  type PathHandlers,
  refusal,
  TOO_LARGE,
  UNMET_EXPECTATION,
} from "./requests.ts";

/** The settings of a server, whatever answers its requests. */
export interface ServerOptions {
  readonly listen: ListenAddress;
  /** Whether other threads listen on the same port (SO_REUSEPORT). Default: no. */
  readonly reusePort?: boolean | undefined;
  /** TLS with HTTP/2 and HTTP/1.1; without it HTTP/1.1 in clear, for a proxy in front. */
  readonly tls: ServerTls | undefined;
  /** The handlers that run without what answers all other requests. */
  readonly paths?: PathHandlers;
  /** Called for an error that could not become a response. Default: it is ignored. */
  readonly onError?: (error: unknown) => void;
  readonly limits: ServerLimits;
  /** Host names of the gateway, in lower case; `*.` stands for one label. Default: they are not known. */
  readonly names?: readonly string[];
  readonly protection: ServerProtection;
}

/** The settings of a server whose requests are answered by a handler of the Fetch standard. */
export interface NodeServerOptions extends ServerOptions {
  readonly fetch: FetchHandler;
}

/**
 * Starts a server.
 * @throws {UsageError} if it cannot listen on the address
 */
export type StartServer = (options: NodeServerOptions) => Promise<Required<Listener>>;

/**
 * Starts a server.
 * @throws {UsageError} if it cannot listen on the address
 */
export async function startNodeServer(
  options: NodeServerOptions | (ServerOptions & { readonly application: Application }),
): Promise<Required<Listener>> {
  const { tls, limits, paths, names = [], onError = () => {}, protection, reusePort = false } = options;
  const guard = new ConnectionGuard(limits, protection);
  const application = "fetch" in options ? answerByFetch(options.fetch) : options.application;
  const handlers = { application, paths, onError };
  const isMisdirected = misdirectedFrom(names);
  const start = async (host: string | undefined, port: number): Promise<Listener> => {
    const server = createGuardedServer({ tls, limits, guard, handlers, protection, isMisdirected });
    let clientCa = tls?.clientCa;
    return {
      port: await listen(server, { host, port, reusePort }),
      renew: (renewed) => {
        if ("setSecureContext" in server) server.setSecureContext(secureContext(renewed));
        if (renewed.clientCa === clientCa) return;
        clientCa = renewed.clientCa;
        // Certificates of clients are checked in handshakes alone.
        guard.endConnections();
        server.closeIdleConnections();
      },
      stop: (grace) => stopServer(server, grace, () => guard.destroyAll()),
    };
  };
  const listeners = asOneListener(await listenOnAll(options.listen, [start]));
  return {
    ...listeners,
    stop: async (grace) => {
      guard.stop();
      await listeners.stop(grace);
      guard.close();
    },
  };
}

/** The parts of a server. */
interface GuardedServerParts extends AnsweringParts {
  readonly tls: ServerTls | undefined;
}

/** What the field Expect of a request has (RFC 9110 section 10.1.1). */
type Expectation = "nothing" | "continue" | "other";

const CLOSE = { connection: "close" };

/**
 * A server of Node with its limits, which does not listen yet: HTTP/2 and HTTP/1.1 over TLS, or HTTP/1.1 in
 * clear.
 */
function createGuardedServer(parts: GuardedServerParts): HttpServer | HttpsServer {
  const { tls, limits, guard, protection } = parts;
  const requestTimeout = limits.requestSeconds * 1000;
  // Node looks for slow HTTP/1.1 requests only once in an interval.
  const http1 = {
    headersTimeout: requestTimeout,
    requestTimeout,
    keepAliveTimeout: limits.idleSeconds * 1000,
    connectionsCheckingInterval: Math.min(2000, requestTimeout),
    maxHeaderSize: limits.headerBytes,
    noDelay: true,
  };
  const server =
    tls === undefined
      ? createServer(http1)
      : createSecureServer({
          ...http1,
          ...secureContext(tls),
          ...negotiate(["h2", "http/1.1"]),
          // Clients without a certificate are accepted; handlers that need one check it.
          requestCert: tls.clientCa !== undefined,
          rejectUnauthorized: false,
          handshakeTimeout: limits.handshakeSeconds * 1000,
        });
  // Depending on its version, Node silently drops fields above this limit, or rejects the request.
  server.maxHeadersCount = 2 * limits.headerFields;
  if (tls !== undefined) chooseProtocol(server, parts);
  server.on("connection", guard.admit);
  takeFailures(server, protection.errors, protection.counters);
  answerMessages(server, parts);
  return server;
}

/** Node's server gets the connections that negotiated HTTP/1.1, or nothing. */
function chooseProtocol(server: HttpServer, parts: GuardedServerParts): void {
  const listeners = server.listeners("secureConnection");
  server.removeAllListeners("secureConnection");
  server.on("secureConnection", (socket: TLSSocket) => {
    if (!socket.authorized) clearVerificationErrors(socket);
    if (socket.alpnProtocol === "h2") {
      answerHttp2(socket, parts);
      return;
    }
    for (const listener of listeners) listener.call(server, socket);
    // Node passes decrypted bytes to its parser even while many pipelined requests have paused it, which the
    // parser reports as an error.
    readThroughSocket(socket);
  });
}

/**
 * OpenSSL keeps the errors of a certificate that failed verification in the thread's queue, although the
 * handshake goes on. The next read would take them for its own and end the connection (SSL_get_error(3)).
 * Reading the certificate clears the queue.
 */
function clearVerificationErrors(socket: TLSSocket): void {
  socket.getPeerX509Certificate();
}

/** Answers requests over HTTP/1.1. */
function answerMessages(server: HttpServer, { limits, handlers, guard, protection }: AnsweringParts): void {
  const { counters, errors } = protection;
  const failed = errors.listeners.http1;
  const reject = (incoming: IncomingMessage, outgoing: ServerResponse): HttpResponse | undefined => {
    if (!guard.beganPlain(incoming, outgoing))
      return refusal(503, "too many requests are waiting", { ...CLOSE, "retry-after": "1" });
    // Node's parser accepts several.
    if ((incoming.headersDistinct.host?.length ?? 0) > 1)
      return refusal(400, "a request has one Host field (RFC 9112 section 3.2)", CLOSE);
    // The parser limits their bytes.
    if (incoming.rawHeaders.length <= 2 * limits.headerFields) return undefined;
    counters.hit("limits.headerFields");
    return { ...TOO_LARGE, headers: { ...TOO_LARGE.headers, ...CLOSE } };
  };
  const take = (expects: Expectation) => (incoming: IncomingMessage, outgoing: ServerResponse) => {
    incoming.on("error", failed);
    outgoing.on("error", failed);
    // Node emits all requests of one read, also behind one that closed the connection.
    if (incoming.socket.destroyed) return;
    // Every upgrade is declined (RFC 9110 section 7.8), but Node drops what its client sent behind it.
    if (incoming.headers.upgrade !== undefined) outgoing.setHeader("connection", "close");
    try {
      const request = new Http1Request(incoming, outgoing, expects === "continue");
      const response = reject(incoming, outgoing) ?? (expects === "other" ? UNMET_EXPECTATION : undefined);
      if (response === undefined) answerRequest(request, handlers);
      else request.respond(response);
    } catch (error) {
      handlers.onError(error);
      incoming.socket.destroy();
    }
  };
  server.on("request", take("nothing"));
  server.on("checkContinue", take("continue"));
  server.on("checkExpectation", take("other"));
}

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
 * Handles every error of a server's connections from their start, before other code uses them: an `error`
 * event without a listener ends the process. Counts the connections that Node ends because of a limit.
 */
function takeFailures(server: HttpServer, errors: ConnectionErrors, counters: LimitCounters): void {
  const { listeners } = errors;
  server.prependListener("connection", (socket: Socket) => socket.on("error", listeners.tcp));
  // Node reports an error of a TLS connection without ending it.
  const end = function (this: Socket) {
    this.destroy();
  };
  server.prependListener("secureConnection", (socket: Socket) => {
    socket.on("error", listeners.tls).on("error", end);
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
