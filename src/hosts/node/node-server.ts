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
import type { AddressInfo, Server } from "node:net";
import type { Duplex } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { getRequestListener } from "@hono/node-server";
import type { Connection } from "../../http/connection.ts";
import type { ServerLimits } from "../settings/server-limits.ts";
import { ConnectionGuard } from "./connection-guard.ts";
import type { ListenAddress } from "./listen-address.ts";
import { listenFailure, NoSuchAddress } from "./listen-failure.ts";
import { NodeConnection } from "./node-connection.ts";
import { exchangeOnStream, type StreamExchanges } from "./stream-exchange.ts";
import { type ServerTls, secureContext } from "./tls.ts";

/** What a Node server is started with. */
export interface NodeServerOptions {
  readonly listen: ListenAddress;
  /** TLS with HTTP/2 and HTTP/1.1; without it HTTP/1.1 in clear, for a proxy in front. */
  readonly tls: ServerTls | undefined;
  readonly fetch: (request: Request, connection: Connection) => Response | Promise<Response>;
  /** What is answered without `fetch`. */
  readonly exchanges?: StreamExchanges;
  readonly limits: ServerLimits;
}

/** A server that listens. */
export interface NodeServer {
  readonly address: Pick<AddressInfo, "port">;
  /** Takes other certificates for new connections. Whether clients are asked for one stays as it was. */
  renew(tls: ServerTls): void;
  /** Stops accepting, lets requests that run finish, and cuts off what is left after `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

/**
 * Starts a server.
 * @throws {UsageError} where the address cannot be listened on
 */
export type StartServer = (options: NodeServerOptions) => Promise<NodeServer>;

/**
 * Starts a server. `localhost` is both of its addresses, since clients differ in which they try.
 * @throws {UsageError} where the address cannot be listened on
 */
export async function startNodeServer(options: NodeServerOptions): Promise<NodeServer> {
  // After objects survive for a while (a snapshot that loads), V8 allocates later ones from the same places in the old
  // generation; HTTP/2 streams keep all they point to alive there, and every collection copies it (docs/benchmarks.md).
  setFlagsFromString("--no-allocation-site-pretenuring");
  const { host, port } = options.listen;
  const { fetch } = options;
  const respond = getRequestListener((request, { incoming }) => fetch(request, new NodeConnection(incoming)));
  const first = createGuarded(options, respond);
  await listen(first.server, { host: host === "localhost" ? "127.0.0.1" : host, port });
  const address = first.server.address() as AddressInfo;
  const guarded = [first];
  if (host === "localhost") {
    const second = createGuarded(options, respond);
    try {
      await listen(second.server, { host: "::1", port: address.port });
      guarded.push(second);
    } catch (error) {
      if (!(error instanceof NoSuchAddress)) {
        await stopGuarded(first, 0);
        throw error;
      }
    }
  }
  return {
    address,
    renew: (tls) => {
      for (const { server } of guarded)
        if ("setSecureContext" in server) server.setSecureContext(secureContext(tls));
    },
    stop: async (grace) => {
      await Promise.all(guarded.map((one) => stopGuarded(one, grace)));
    },
  };
}

type Incoming = IncomingMessage | Http2ServerRequest;
type Outgoing = ServerResponse | Http2ServerResponse;

interface Guarded {
  readonly server: HttpServer | Http2SecureServer;
  readonly guard: ConnectionGuard;
}

function createGuarded(
  { limits, tls, exchanges }: NodeServerOptions,
  respond: (incoming: Incoming, outgoing: Outgoing) => Promise<void>,
): Guarded {
  const listener = (incoming: Incoming, outgoing: Outgoing): void => {
    if (incoming.httpVersionMajor === 1 && hasTwoHosts(incoming.rawHeaders))
      refuseTwoHosts(outgoing as ServerResponse);
    else void respond(incoming, outgoing);
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
            maxHeaderListPairs: 64,
            maxSessionInvalidFrames: 100,
            maxSessionRejectedStreams: 100,
            settings: {
              maxConcurrentStreams: limits.streamsPerConnection,
              maxHeaderListSize: limits.headerBytes,
              enablePush: false,
            },
          },
          listener,
        );
  server.maxConnections = limits.connections;
  const guard = new ConnectionGuard(server, limits);
  if (tls !== undefined) answerStreams(server as Http2SecureServer, guard, exchanges);
  // Handshakes that fail and clients that vanish are a network's daily life.
  server.on("tlsClientError", (_error: Error, socket: Duplex) => socket.destroy());
  server.on("sessionError", () => {});
  return { server, guard };
}

/** Puts a listener before the one by which Node makes request and response objects of a stream. */
function answerStreams(
  server: Http2SecureServer,
  guard: ConnectionGuard,
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
    guard.began(stream, headers[":method"]);
    if (exchanges !== undefined && exchangeOnStream(exchanges, stream, headers)) return;
    for (const listener of listeners) listener.call(server, stream, headers, flags, rawHeaders);
  };
  server.on("stream", answer);
}

function stopGuarded({ server, guard }: Guarded, grace: number): Promise<void> {
  return new Promise((resolve) => {
    const cutOff = setTimeout(() => guard.destroyAll(), grace);
    server.close(() => {
      clearTimeout(cutOff);
      resolve();
    });
  });
}

function listen(server: Server, address: ListenAddress): Promise<void> {
  const { host, port } = address;
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(listenFailure(error, address)));
    server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  });
}

/** RFC 9112 section 3.2: a request with two Host fields is answered with 400; Node's parser takes it. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}

function refuseTwoHosts(outgoing: ServerResponse): void {
  outgoing.writeHead(400, { "content-type": "text/plain", connection: "close" });
  outgoing.end("a request has one Host field (RFC 9112 section 3.2)\n");
}
