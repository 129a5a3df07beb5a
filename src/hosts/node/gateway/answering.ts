import { namesInCertificate } from "../../../config/own-names.ts";
import { parseListenAddress } from "../../../config/values.ts";
import type { App } from "../../../http/app.ts";
import { asOneListener, type Listener, type ListeningPlace } from "../listen.ts";
import { type ListenersOptions, startListeners } from "../listeners/listeners.ts";
import type { ServerOptions } from "../server/node-server.ts";
import type { Parts } from "./parts.ts";

/** What answers clients: a server for HTTP and listeners for DNS, in one thread or in several. */
export interface Answering extends Required<Listener> {
  readonly places: readonly ListeningPlace[];
}

/** What `startAnswering` needs beside the parts of the thread. */
interface AnsweringOptions extends ListenersOptions {
  readonly app: Pick<App, "handlerAt" | "failed">;
  /** Starts a server that answers also what no handler of the application answers. */
  readonly startServer: (options: ServerOptions) => Promise<Listener>;
}

/** Listens in this thread. @throws {UsageError} if it cannot listen on an address; then nothing stays open */
export async function startAnswering(parts: Parts, options: AnsweringOptions): Promise<Answering> {
  const { protection, onError, addresses } = parts;
  const { config, tls, app, reusePort } = options;
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
    const listeners = await startListeners(parts, options);
    const answering = { ...asOneListener([https, listeners]), places: listeners.places };
    addresses.listens(answering.port, answering.places);
    return answering;
  } catch (error) {
    await https.stop(0);
    throw error;
  }
}
