import type { QueryCounters } from "../../../answer/query-counters.ts";
import type { Dns, Dot, ListenPlace } from "../../../config/listeners.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { formatListenAddress, parseListenAddress } from "../../../config/values.ts";
import type { Rate } from "../../../limits/client-rate.ts";
import type { SharedLimits } from "../../../limits/shared.ts";
import { streamTransport, type Transport, udpTransport } from "../../../resolve/message-writer.ts";
import type { Logger } from "../process.ts";
import type { ServerTls } from "../tls.ts";
import { type Bound, bindAll, type OpenBound } from "./bind.ts";
import { type ConnectionLimits, Connections } from "./connections.ts";
import { listenTcp, listenTls, type StreamListenerParts, type TlsBound } from "./stream.ts";
import type { AnswerMessage } from "./udp.ts";
import { listenUdp, ResponseRateLimit } from "./udp.ts";

/** The parts of the listeners. */
export interface ListenerParts {
  readonly config: Pick<ServeConfig, "dns" | "dot" | "limits">;
  /** Answers queries of a listener, over each of its transports. */
  readonly answerAt: (place: ListenPlace, transport: Transport) => AnswerMessage;
  readonly counters: QueryCounters;
  readonly shared: SharedLimits;
  /** Undefined without TLS; then DNS over TLS is off. */
  readonly tls: ServerTls | undefined;
  readonly logger: Logger;
  /** Whether other threads listen on the same ports (SO_REUSEPORT). Default: no. */
  readonly reusePort?: boolean | undefined;
}

/** An address with a listener. */
export interface ListeningPlace {
  readonly kind: "dns" | "dot";
  /** As configured; port 0 is replaced by the actual port. */
  readonly address: string;
  readonly port: number;
  readonly view: string | undefined;
  readonly rule?: string | undefined;
}

/** The running listeners. */
export interface Listeners {
  readonly places: readonly ListeningPlace[];
  /** Uses another certificate for new connections. */
  renew(tls: ServerTls): void;
  /** Stops accepting, sends pending answers, and closes the remaining connections after `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

/**
 * Listens for plain DNS over UDP and TCP, and for DNS over TLS, on all addresses of the config.
 * @throws {UsageError} if it cannot listen on an address; then all are closed again
 */
export async function startListeners(parts: ListenerParts): Promise<Listeners> {
  const { config, counters, shared } = parts;
  const { dns, dot } = config;
  const bound: Bound[] = [];
  const secure: TlsBound[] = [];
  const places: ListeningPlace[] = [];
  const start = async (kind: "dns" | "dot", place: ListenPlace, opens: readonly OpenBound[]) => {
    const opened = await bindAll(place.address, opens, kind);
    bound.push(...opened.bound);
    const host = parseListenAddress(place.address).host ?? "";
    const address = formatListenAddress(host, opened.port);
    places.push({ kind, address, port: opened.port, view: place.view, rule: place.rule });
    const what = kind === "dns" ? "DNS over UDP and TCP" : "DNS over TLS";
    const { view } = place;
    parts.logger.info(
      { event: "listening", listener: kind, address, ...(view !== undefined && { view }) },
      `listening on ${address} for ${what}${view === undefined ? "" : ` of ${view}`}`,
    );
  };
  try {
    const createBuckets = (rate: Rate) => shared.buckets("datagrams", rate);
    const rateLimit = new ResponseRateLimit(dns.rateLimit, undefined, createBuckets);
    const overTcp = new Connections(connectionLimits("dns", dns, counters, shared));
    const overTls = new Connections(connectionLimits("dot", dot, counters, shared));
    for (const place of dns.listen) await start("dns", place, openDns(parts, place, rateLimit, overTcp));
    for (const place of dot.listen) await start("dot", place, [openDot(parts, place, overTls, secure)]);
  } catch (error) {
    await Promise.all(bound.map((one) => one.close(0)));
    throw error;
  }
  return {
    places,
    renew: (tls) => {
      for (const one of secure) one.renew(tls);
    },
    stop: async (grace) => {
      await Promise.all(bound.map((one) => one.close(grace)));
    },
  };
}

/** TCP first: with port 0, a port that is free for TCP is usually free for UDP. */
function openDns(
  parts: ListenerParts,
  place: ListenPlace,
  rateLimit: ResponseRateLimit,
  connections: Connections,
): OpenBound[] {
  const { config, answerAt, counters, logger, reusePort } = parts;
  const overTcp = streamParts(parts, "dns", place, connections);
  const transport = udpTransport(config.dns.payloadBytes);
  const answer = answerAt(place, transport);
  const onError = errorLog(logger);
  return [
    (host, port) => listenTcp(host, port, overTcp),
    (host, port) => listenUdp(host, port, { answer, transport, rateLimit, counters, onError, reusePort }),
  ];
}

function openDot(
  parts: ListenerParts,
  place: ListenPlace,
  connections: Connections,
  secure: TlsBound[],
): OpenBound {
  const { config, counters, tls } = parts;
  return async (host, port) => {
    const bound = await listenTls(host, port, {
      ...streamParts(parts, "dot", place, connections),
      handshakeSeconds: config.limits.handshakeSeconds,
      onSlowHandshake: () => counters.limits.hit("limits.handshakeSeconds"),
      tls: tls!,
    });
    secure.push(bound);
    return bound;
  };
}

/** What listeners over TCP and over TLS have in common. */
function streamParts(
  { config, answerAt, counters, logger, reusePort }: ListenerParts,
  kind: "dns" | "dot",
  place: ListenPlace,
  connections: Connections,
): StreamListenerParts {
  const { idleSeconds, queriesPerConnection } = config[kind];
  const { limits, errors } = counters;
  return {
    answer: answerAt(place, streamTransport(kind === "dns" ? "tcp" : "dot", idleSeconds * 1000)),
    queryBytes: config.limits.queryBytes,
    queriesPerConnection,
    connections,
    reusePort,
    errors,
    onTooLong: () => limits.hit("limits.queryBytes"),
    onFull: () => limits.hit(`${kind}.queriesPerConnection`),
    onError: errorLog(logger),
  };
}

function connectionLimits(
  kind: "dns" | "dot",
  { connections, connectionsPerClient, idleSeconds }: Dns | Dot,
  { limits: counters }: QueryCounters,
  shared: SharedLimits,
): ConnectionLimits {
  const open = { all: shared.count(`${kind}.connections`), clients: shared.clients(kind) };
  return { connections, connectionsPerClient, idleSeconds, counters, kind, open };
}

function errorLog(logger: Logger): (error: Error) => void {
  return (error) => logger.error({ event: "query-failed", err: error }, "a query failed");
}
