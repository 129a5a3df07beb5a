import { createViewReader, socketAddress } from "../../../access/client.ts";
import { hidesAnything } from "../../../access/rule.ts";
import { createAnswerQuery } from "../../../answer/answer-query.ts";
import type { Assembly } from "../../../assembly/assemble.ts";
import { namesInCertificate } from "../../../config/own-names.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { parseListenAddress } from "../../../config/values.ts";
import type { Clock } from "../../../gateway/clock.ts";
import type { App } from "../../../http/app.ts";
import { asOneListener, type Listener } from "../listen.ts";
import { type ListenerParts, type ListeningPlace, startListeners } from "../listeners/listeners.ts";
import { createAnswerMessage } from "../listeners/udp.ts";
import type { Logger } from "../process.ts";
import type { ServerOptions } from "../server/node-server.ts";
import type { ServerTls } from "../tls.ts";
import type { Parts } from "./parts.ts";

/** What answers clients: a server for HTTP and listeners for DNS, in one thread or in several. */
export interface Answering extends Required<Listener> {
  readonly places: readonly ListeningPlace[];
}

/** What `startAnswering` needs beside the parts of the thread. */
interface AnsweringOptions {
  /** Its addresses have the ports that other threads listen on already. */
  readonly config: ServeConfig;
  readonly assembly: Pick<Assembly, "gatewayOf" | "outOfZone">;
  readonly app: Pick<App, "handlerAt" | "failed">;
  readonly clock: Clock;
  readonly tls: ServerTls | undefined;
  /** Starts a server that answers also what no handler of the application answers. */
  readonly startServer: (options: ServerOptions) => Promise<Listener>;
  readonly logger: Logger;
  /** Whether other threads listen on the same ports. Default: no. */
  readonly reusePort?: boolean;
}

/** Listens in this thread. @throws {UsageError} if it cannot listen on an address; then nothing stays open */
export async function startAnswering(parts: Parts, options: AnsweringOptions): Promise<Answering> {
  const { protection, onError, counters, shared, addresses } = parts;
  const { config, tls, app, logger, reusePort } = options;
  const https = await options.startServer({
    listen: parseListenAddress(config.listen),
    tls,
    protection,
    onError,
    reusePort,
    paths: { at: app.handlerAt, failed: app.failed },
    limits: config.limits,
    names: namesInCertificate(config),
  });
  try {
    const onQueryError = (err: unknown) => logger.error({ event: "query-failed", err }, "a query failed");
    const listeners = await startListeners({
      config,
      answerAt: createListenerAnswers(parts, options, onQueryError),
      onError: onQueryError,
      counters,
      shared,
      tls,
      logger,
      reusePort,
    });
    const answering = { ...asOneListener([https, listeners]), places: listeners.places };
    addresses.listens(answering.port, answering.places);
    return answering;
  } catch (error) {
    await https.stop(0);
    throw error;
  }
}

/**
 * Answers queries of listeners: their clients have the access rule that the listener names, or the public
 * one.
 */
function createListenerAnswers(
  { access, stubs, counters, accessCounters }: Parts,
  { config, assembly, clock }: AnsweringOptions,
  onError: ListenerParts["onError"],
): ListenerParts["answerAt"] {
  const { rules } = access.admission;
  const { option, trusted } = config.sourceCluster;
  return (place, transport) => {
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
  };
}
