import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, type Server as HttpsServer } from "node:https";
import type { TLSSocket } from "node:tls";
import type { ServerLimits } from "../../../config/limits.ts";
import type { ListenAddress } from "../../../config/values.ts";
import type { HttpResponse } from "../../../http/messages/message.ts";
import { asOneListener, type Listener, listen, listenOnAll, stopServer } from "../listen.ts";
import { misdirectedFrom, negotiate, type ServerTls, secureContext } from "../tls.ts";
import {
  type Application,
  answerByFetch,
  answerRequest,
  exceededHeaderLimit,
  type FetchHandler,
  hasTwoHosts,
  type PathHandlers,
  refusal,
  TOO_LARGE,
  UNMET_EXPECTATION,
} from "./answer-request.ts";
import { ConnectionGuard } from "./connection-guard.ts";
import type { ServerProtection } from "./connections.ts";
import { Http1Request } from "./http1.ts";
import { type AnsweringParts, answerHttp2 } from "./http2.ts";
import { DeclinedUpgrades, PipelinedRequests } from "./pipelining.ts";
import { takeFailures } from "./server-failures.ts";

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
    return {
      port: await listen(server, { host, port, reusePort }),
      renew: (renewed) => {
        if ("setSecureContext" in server) server.setSecureContext(secureContext(renewed));
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

/** A server of Node with its limits, which does not listen yet: HTTP/2 and HTTP/1.1 over TLS, or HTTP/1.1 in clear. */
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
  guard.watch(server);
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
    readInTurns(socket);
  });
}

/**
 * OpenSSL keeps the errors of a certificate that failed verification in the thread's queue, although the handshake goes on. The next read would take them for its
 * own and end the connection (SSL_get_error(3)). Reading the certificate clears the queue.
 */
function clearVerificationErrors(socket: TLSSocket): void {
  socket.getPeerX509Certificate();
}

/**
 * Node passes decrypted bytes to its HTTP/1.1 parser even while many pipelined requests have paused it, which the parser
 * reports as an error. With a listener for `data` the bytes go through the socket, which waits.
 */
function readInTurns(socket: TLSSocket): void {
  socket.on("data", () => {});
}

/** Answers requests over HTTP/1.1. */
function answerMessages(
  server: HttpServer,
  { tls, limits, handlers, guard, protection }: GuardedServerParts,
): void {
  const { counters, errors } = protection;
  const failed = errors.listeners.http1;
  const upgrades = new DeclinedUpgrades();
  upgrades.watch(server, tls === undefined ? "connection" : "secureConnection");
  const reject = (incoming: IncomingMessage, outgoing: ServerResponse): HttpResponse | undefined => {
    if (!guard.beganPlain(incoming, outgoing))
      return refusal(503, "too many requests are waiting", { ...CLOSE, "retry-after": "1" });
    if (hasTwoHosts(incoming.rawHeaders))
      return refusal(400, "a request has one Host field (RFC 9112 section 3.2)", CLOSE);
    const exceeded = exceededHeaderLimit(limits, incoming.rawHeaders);
    if (exceeded === undefined) return undefined;
    counters.hit(exceeded);
    return { ...TOO_LARGE, headers: { ...TOO_LARGE.headers, ...CLOSE } };
  };
  const pipelined = new PipelinedRequests();
  const take = (expects: Expectation) => (incoming: IncomingMessage, outgoing: ServerResponse) => {
    incoming.on("error", failed);
    outgoing.on("error", failed);
    upgrades.began(outgoing, incoming);
    pipelined.add(incoming.socket, outgoing, () => answer(incoming, outgoing, expects));
  };
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, expects: Expectation): void => {
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
