import type { ServeConfig } from "../../../config/serve-config.ts";
import { namesInCertificate } from "../../../config/serve-config.ts";
import type { ListenAddress } from "../../../config/values.ts";
import type { App } from "../../../http/app.ts";
import type { SharedLimits } from "../../../limits/shared/shared-limits.ts";
import { type ListeningPlace, startListeners } from "../listeners/listeners.ts";
import type { Logger } from "../logger.ts";
import type { NodeServer, ServerOptions } from "../server/node-server.ts";
import type { ServerProtection } from "../server/server-protection.ts";
import type { ServerTls } from "../tls/tls.ts";
import { createListenerAnswers, type ListenerAnswerParts } from "./answer-listener.ts";

/** What answers clients: a server for HTTP and listeners for DNS, in one thread or in several. */
export interface Answering {
  readonly port: number;
  readonly places: readonly ListeningPlace[];
  /** Uses other certificates for new connections. */
  renew(tls: ServerTls): void;
  /** Stops accepting, finishes requests in progress, and cuts off the rest after `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

/** The parts of answering in one thread. */
export interface AnsweringParts extends Omit<ListenerAnswerParts, "config"> {
  readonly config: ServeConfig;
  readonly listen: ListenAddress;
  readonly tls: ServerTls | undefined;
  readonly protection: ServerProtection;
  /** The limits of all threads. */
  readonly shared: SharedLimits;
  readonly onError: (error: unknown) => void;
  readonly app: Pick<App, "handlerAt" | "failed">;
  /** Starts a server that answers also what no handler of the application answers. */
  readonly startServer: (options: ServerOptions) => Promise<NodeServer>;
  readonly logger: Logger;
  /** Whether other threads listen on the same ports. Default: no. */
  readonly reusePort?: boolean;
}

/** Listens in this thread. @throws {UsageError} if it cannot listen on an address; then nothing stays open */
export async function startAnswering(parts: AnsweringParts): Promise<Answering> {
  const { config, listen, tls, protection, onError, app, counters, shared, logger, reusePort } = parts;
  const https = await parts.startServer({
    ...{ listen, tls, protection, onError, reusePort },
    paths: { at: app.handlerAt, failed: app.failed },
    limits: config.limits,
    names: namesInCertificate(config),
  });
  try {
    const answerAt = createListenerAnswers(parts);
    const listeners = await startListeners({ config, answerAt, counters, shared, tls, logger, reusePort });
    return {
      port: https.address.port,
      places: listeners.places,
      renew: (renewed) => {
        https.renew(renewed);
        listeners.renew(renewed);
      },
      stop: async (grace) => {
        await Promise.all([https.stop(grace), listeners.stop(grace)]);
      },
    };
  } catch (error) {
    await https.stop(0);
    throw error;
  }
}
