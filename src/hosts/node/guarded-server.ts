import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { ServerLimits } from "../../config/server-limits.ts";
import type { LimitCounters } from "../../limits/limit-counters.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import { beyondHeaders, hasTwoHosts, refuseHeaders, refusePlain } from "./request-checks.ts";
import { countFailures } from "./server-failures.ts";
import { exchangeOnStream, type StreamExchanges } from "./stream-exchange.ts";
import { type ServerTls, secureContext } from "./tls.ts";

type Incoming = IncomingMessage | Http2ServerRequest;
type Outgoing = ServerResponse | Http2ServerResponse;

/** What a server is made of. */
export interface GuardedServerParts {
  readonly tls: ServerTls | undefined;
  readonly limits: ServerLimits;
  readonly exchanges: StreamExchanges | undefined;
  readonly guard: ConnectionGuard;
  readonly counters: LimitCounters;
  readonly respond: (incoming: Incoming, outgoing: Outgoing) => Promise<void>;
}

/** A server of Node with its limits, which does not listen yet: HTTP/2 and HTTP/1.1 over TLS, or HTTP/1.1 in clear. */
export function createGuardedServer(parts: GuardedServerParts): HttpServer | Http2SecureServer {
  const { tls, limits, exchanges, guard, counters, respond } = parts;
  const listener = (incoming: Incoming, outgoing: Outgoing): void => {
    if (
      incoming.httpVersionMajor === 2 ||
      admitPlain(incoming as IncomingMessage, outgoing as ServerResponse)
    )
      void respond(incoming, outgoing);
  };
  const admitPlain = (incoming: IncomingMessage, outgoing: ServerResponse): boolean => {
    const { rawHeaders } = incoming;
    if (!guard.beganPlain(incoming, outgoing)) refusePlain(outgoing, 503, "too many requests are waiting", 1);
    else if (hasTwoHosts(rawHeaders))
      refusePlain(outgoing, 400, "a request has one Host field (RFC 9112 section 3.2)");
    else {
      const beyond = beyondHeaders(limits, rawHeaders);
      if (beyond === undefined) return true;
      counters.hit(beyond);
      refusePlain(outgoing, 431, "there are too many header fields, or they are too long");
    }
    return false;
  };
  // Node looks for slow HTTP/1.1 requests only once in an interval.
  const http1 = {
    headersTimeout: limits.requestTimeout,
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: limits.idleTimeout,
    connectionsCheckingInterval: Math.min(2000, limits.requestTimeout),
    maxHeaderSize: limits.headerBytes,
    noDelay: true,
  };
  const server =
    tls === undefined
      ? createServer(http1, listener)
      : createSecureServer(
          {
            ...http1,
            allowHTTP1: true,
            ...secureContext(tls),
            // Anybody may ask; what needs a certificate looks whether there is one.
            requestCert: tls.clientCa !== undefined,
            rejectUnauthorized: false,
            handshakeTimeout: limits.handshakeTimeout,
            maxSessionInvalidFrames: 100,
            maxSessionRejectedStreams: 100,
            // What is beyond these Node resets without a word; what is beyond ours is refused, and counted.
            maxHeaderListPairs: 2 * limits.headerFields,
            streamResetBurst: 10_000 + 10 * limits.streamResets,
            streamResetRate: 1000 + 10 * limits.streamResetsPerSecond,
            settings: {
              maxConcurrentStreams: limits.streamsPerConnection,
              maxHeaderListSize: 2 * limits.headerBytes,
              enablePush: false,
            },
          },
          listener,
        );
  // What is beyond this is left out without a word, or refused, as the version of Node has it.
  (server as HttpServer).maxHeadersCount = 2 * limits.headerFields;
  guard.watch(server);
  if (tls !== undefined) {
    const check = (stream: ServerHttp2Stream, method: string | undefined, rawHeaders: readonly string[]) => {
      if (!guard.began(stream, method)) return false;
      const beyond = beyondHeaders(limits, rawHeaders);
      if (beyond !== undefined) refuseHeaders(stream, beyond, counters);
      return beyond === undefined;
    };
    answerStreams(server as Http2SecureServer, check, exchanges);
  }
  countFailures(server, counters);
  return server;
}

type StreamCheck = (
  stream: ServerHttp2Stream,
  method: string | undefined,
  rawHeaders: readonly string[],
) => boolean;

/** Puts a listener before the one by which Node makes request and response objects of a stream. */
function answerStreams(
  server: Http2SecureServer,
  check: StreamCheck,
  exchanges: StreamExchanges | undefined,
): void {
  type StreamListener = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: string[],
  ) => void;
  const listeners = server.listeners("stream") as StreamListener[];
  server.removeAllListeners("stream");
  const answer: StreamListener = (stream, headers, flags, rawHeaders) => {
    if (!check(stream, headers[":method"], rawHeaders)) return;
    if (exchanges !== undefined && exchangeOnStream(exchanges, stream, headers)) return;
    for (const listener of listeners) listener.call(server, stream, headers, flags, rawHeaders);
  };
  server.on("stream", answer);
}
