import { createViewReader, socketAddress } from "../../../access/client.ts";
import { hidesAnything } from "../../../access/rule.ts";
import { createAnswerQuery } from "../../../answer/answer-query.ts";
import type { Assembly } from "../../../assembly/assemble.ts";
import { socketNetworks } from "../../../config/limits.ts";
import type { ListenPlace } from "../../../config/listeners.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { formatListenAddress, parseListenAddress } from "../../../config/values.ts";
import type { Clock } from "../../../gateway/clock.ts";
import { ClientNetworks } from "../../../limits/client-rate.ts";
import { streamTransport, type Transport, udpTransport } from "../../../resolve/message-writer.ts";
import type { Parts } from "../gateway/parts.ts";
import {
  asOneListener,
  type Listener,
  type ListeningPlace,
  listenOnAll,
  type StartListener,
} from "../listen.ts";
import type { Logger } from "../process.ts";
import type { ServerTls } from "../tls.ts";
import { Connections, listenStream } from "./stream.ts";
import { type AnswerMessage, createAnswerMessage, listenUdp, ResponseRateLimit } from "./udp.ts";

/** What listeners need beside the parts of the thread. */
export interface ListenersOptions {
  /** Its addresses have the ports that other threads listen on already. */
  readonly config: ServeConfig;
  readonly assembly: Pick<Assembly, "gatewayOf" | "outOfZone">;
  readonly clock: Clock;
  /** Undefined without TLS; then DNS over TLS is off. */
  readonly tls: ServerTls | undefined;
  readonly logger: Logger;
  /** Whether other threads listen on the same ports (SO_REUSEPORT). Default: no. */
  readonly reusePort?: boolean;
}

/**
 * Listens for plain DNS over UDP and TCP, and for DNS over TLS, on all addresses of the config.
 * @throws {UsageError} if it cannot listen on an address; then all are stopped again
 */
export async function startListeners(
  parts: Parts,
  options: ListenersOptions,
): Promise<Required<Listener> & { readonly places: readonly ListeningPlace[] }> {
  const { counters, shared } = parts;
  const { config, tls, logger, reusePort } = options;
  const { dns, dot, limits } = config;
  const onError = (err: unknown) => logger.error({ event: "query-failed", err }, "a query failed");
  const answerAt = (place: ListenPlace, transport: Transport) =>
    createListenerAnswer(place, transport, parts, options, onError);
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

/** Answers queries of a listener: its clients have the access rule that it names, or the public one. */
function createListenerAnswer(
  place: ListenPlace,
  transport: Transport,
  { access, stubs, counters, accessCounters }: Parts,
  { config, assembly, clock }: ListenersOptions,
  onError: (error: unknown) => void,
): AnswerMessage {
  const { rules } = access.admission;
  const { option, trusted } = config.sourceCluster;
  // The settings were checked: without a public rule, the listener names a rule.
  const rule = place.rule === undefined ? rules.public! : rules.of(place.rule);
  const gateway = assembly.gatewayOf(rule);
  const answerQuery = createAnswerQuery({
    gateway,
    counters,
    rule: rule.name,
    cluster: rule.visibility.view,
    views: createViewReader({ optionCode: option, trusted }, (id) => gateway.hasCluster(id)),
    stubs: hidesAnything(rule) ? undefined : stubs,
    outside: assembly.outOfZone.outside,
    clientAddress: socketAddress,
    clock: clock.now,
  });
  const endpoint = {
    transport: place.rule === undefined ? transport : { ...transport, isOfRule: true },
    cluster: place.view,
    outsideZones: place.outsideZones ?? config.outsideZones,
  };
  const answer = createAnswerMessage(answerQuery, endpoint, counters, onError);
  return (query, clientAddress) => {
    accessCounters.admitted.hit(rule.name);
    return answer(query, clientAddress);
  };
}
