import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import type { ServerLimits } from "../../../config/limits/server-limits.ts";
import type { HttpResponse } from "../../../http/messages/http-message.ts";
import { type ServerTls, secureContext } from "../tls/tls.ts";
import { answerRequest, type RequestHandlers } from "./answer-request.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import { refusal } from "./fetch-request.ts";
import { DeclinedUpgrades } from "./http1/declined-upgrades.ts";
import { Http1Request } from "./http1/http1-request.ts";
import { PipelinedRequests } from "./http1/pipelined-requests.ts";
import { Http2Request } from "./http2-request.ts";
import { exceededHeaderLimit, hasTwoHosts } from "./request-checks.ts";
import { takeFailures } from "./server-failures.ts";
import type { ServerProtection } from "./server-protection.ts";

/** The parts of a server. */
export interface GuardedServerParts {
  readonly tls: ServerTls | undefined;
  readonly limits: ServerLimits;
  readonly handlers: RequestHandlers;
  readonly guard: ConnectionGuard;
  readonly protection: Pick<ServerProtection, "counters" | "errors">;
}

const CLOSE = { connection: "close" };
const CONTINUE = /^100-continue$/i;
const UNMET_EXPECTATION = refusal(417, "the gateway supports no expectation but 100-continue");

/** A server of Node with its limits, which does not listen yet: HTTP/2 and HTTP/1.1 over TLS, or HTTP/1.1 in clear. */
export function createGuardedServer(parts: GuardedServerParts): HttpServer | Http2SecureServer {
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
          allowHTTP1: true,
          ...secureContext(tls),
          // Clients without a certificate are accepted; handlers that need one check it.
          requestCert: tls.clientCa !== undefined,
          rejectUnauthorized: false,
          handshakeTimeout: limits.handshakeSeconds * 1000,
          maxSessionInvalidFrames: 100,
          maxSessionRejectedStreams: 100,
          // Node resets requests above these limits silently; the gateway rejects and counts those above its own.
          maxHeaderListPairs: 2 * limits.headerFields,
          streamResetBurst: 10_000 + 10 * limits.streamResets,
          streamResetRate: 1000 + 10 * limits.streamResetsPerSecond,
          settings: {
            maxConcurrentStreams: limits.streamsPerConnection,
            maxHeaderListSize: 2 * limits.headerBytes,
            enablePush: false,
          },
        });
  // Depending on its version, Node silently drops fields above this limit, or rejects the request.
  (server as HttpServer).maxHeadersCount = 2 * limits.headerFields;
  guard.watch(server);
  takeFailures(server, protection.errors, protection.counters);
  answerMessages(server as HttpServer, parts);
  if (tls !== undefined) {
    answerStreams(server as Http2SecureServer, parts);
    server.on("secureConnection", readInTurns);
  }
  return server;
}

/**
 * Node passes decrypted bytes to its HTTP/1.1 parser even while many pipelined requests have paused it, which the parser
 * reports as an error. With a listener for `data` the bytes go through the socket, which waits.
 */
function readInTurns(socket: TLSSocket): void {
  if (socket.alpnProtocol !== "h2") socket.on("data", () => {});
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
    return refusal(431, "there are too many header fields, or they are too long", CLOSE);
  };
  const pipelined = new PipelinedRequests();
  const take = (incoming: IncomingMessage, outgoing: ServerResponse, refused?: HttpResponse): void => {
    incoming.on("error", failed);
    outgoing.on("error", failed);
    upgrades.began(outgoing, incoming);
    pipelined.add(incoming.socket, outgoing, () => answer(incoming, outgoing, refused));
  };
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, refused?: HttpResponse): void => {
    try {
      const request = new Http1Request(incoming, outgoing);
      const response = reject(incoming, outgoing) ?? refused;
      if (response === undefined) answerRequest(request, handlers);
      else request.respond(response);
    } catch (error) {
      handlers.onError(error);
      incoming.socket.destroy();
    }
  };
  server.on("request", (incoming, outgoing) => take(incoming, outgoing));
  server.on("checkExpectation", (incoming, outgoing) => take(incoming, outgoing, UNMET_EXPECTATION));
}

/** Answers requests over HTTP/2, without the request and response objects that Node makes for listeners of `request`. */
function answerStreams(
  server: Http2SecureServer,
  { limits, handlers, guard, protection }: GuardedServerParts,
): void {
  const { counters, errors } = protection;
  const failed = errors.listeners.http2_stream;
  const reject = (expect: string | undefined, rawHeaders: readonly string[]): HttpResponse | undefined => {
    const exceeded = exceededHeaderLimit(limits, rawHeaders);
    if (exceeded === undefined)
      return expect === undefined || CONTINUE.test(expect) ? undefined : UNMET_EXPECTATION;
    counters.hit(exceeded);
    return { status: 431, headers: { "cache-control": "no-store" }, body: null };
  };
  const answer = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    rawHeaders: string[],
  ): void => {
    stream.on("error", failed);
    try {
      // The client has reset it within the same read.
      if (stream.destroyed || stream.closed || !guard.began(stream, headers[":method"])) return;
      const request = new Http2Request(stream, headers, rawHeaders);
      const refused = reject(headers.expect, rawHeaders);
      if (refused !== undefined) request.respond(refused);
      else {
        if (headers.expect !== undefined) stream.additionalHeaders({ ":status": 100 });
        answerRequest(request, handlers);
      }
    } catch (error) {
      handlers.onError(error);
      stream.destroy();
    }
  };
  server.removeAllListeners("stream");
  server.on("stream", answer);
}
