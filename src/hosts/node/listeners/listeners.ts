import type { QueryCounters } from "../../../answer/answer-query.ts";
import { socketNetworks } from "../../../config/limits.ts";
import type { ListenPlace } from "../../../config/listeners.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { formatListenAddress, parseListenAddress } from "../../../config/values.ts";
import { ClientNetworks } from "../../../limits/client-rate.ts";
import type { SharedLimits } from "../../../limits/shared.ts";
import { streamTransport, type Transport, udpTransport } from "../../../resolve/message-writer.ts";
import { asOneListener, type Listener, listenOnAll, type StartListener } from "../listen.ts";
import type { Logger } from "../process.ts";
import type { ServerTls } from "../tls.ts";
import { Connections, listenStream } from "./stream.ts";
import { type AnswerMessage, listenUdp, ResponseRateLimit } from "./udp.ts";

/** The parts of the listeners. */
export interface ListenerParts {
  readonly config: Pick<ServeConfig, "clients" | "dns" | "dot" | "limits">;
  /** Answers queries of a listener, over each of its transports. */
  readonly answerAt: (place: ListenPlace, transport: Transport) => AnswerMessage;
  /** Called with errors of queries and their sockets. */
  readonly onError: (error: unknown) => void;
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

/**
 * Listens for plain DNS over UDP and TCP, and for DNS over TLS, on all addresses of the config.
 * @throws {UsageError} if it cannot listen on an address; then all are stopped again
 */
export async function startListeners(
  parts: ListenerParts,
): Promise<Required<Listener> & { readonly places: readonly ListeningPlace[] }> {
  const { config, answerAt, onError, counters, shared, tls, logger, reusePort } = parts;
  const { dns, dot, limits } = config;
  const listeners: Listener[] = [];
  const places: ListeningPlace[] = [];
  const start = async (kind: "dns" | "dot", place: ListenPlace, starts: readonly StartListener[]) => {
    const { view, rule } = place;
    const wanted = parseListenAddress(place.address);
    const opened = await listenOnAll(wanted, starts, kind);
    listeners.push(...opened);
    const { port } = opened[0]!;
    const address = formatListenAddress(wanted.host ?? "", port);
    places.push({ kind, address, port, view, rule });
    const what = kind === "dns" ? "DNS over UDP and TCP" : "DNS over TLS";
    logger.info(
      { event: "listening", listener: kind, address, ...(view !== undefined && { view }) },
      `listening on ${address} for ${what}${view === undefined ? "" : ` of ${view}`}`,
    );
  };
  const connectionsOf = (kind: "dns" | "dot") =>
    new Connections({
      kind,
      settings: config[kind],
      limits,
      counters,
      onError,
      reusePort,
      networks: new ClientNetworks({ ...socketNetworks(config.clients), exempt: [] }),
      open: { all: shared.count(`${kind}.connections`), clients: shared.clients(kind) },
    });
  try {
    const rateLimit = new ResponseRateLimit(dns.rateLimit, undefined, (rate) =>
      shared.buckets("datagrams", rate),
    );
    const overTcp = connectionsOf("dns");
    for (const place of dns.listen) {
      const answer = answerAt(place, streamTransport("tcp", dns.idleSeconds * 1000));
      const transport = udpTransport(dns.payloadBytes);
      const udp = { answer: answerAt(place, transport), transport, rateLimit, counters, onError, reusePort };
      // TCP first: with port 0, a port that is free for TCP is usually free for UDP.
      await start("dns", place, [
        (host, port) => listenStream(host, port, answer, overTcp),
        (host, port) => listenUdp(host!, port, udp),
      ]);
    }
    const overTls = connectionsOf("dot");
    for (const place of dot.listen) {
      const answer = answerAt(place, streamTransport("dot", dot.idleSeconds * 1000));
      await start("dot", place, [(host, port) => listenStream(host, port, answer, overTls, tls)]);
    }
  } catch (error) {
    await asOneListener(listeners).stop(0);
    throw error;
  }
  return { ...asOneListener(listeners), places };
}
