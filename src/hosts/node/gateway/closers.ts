import type { Logger } from "../process.ts";

/** A part that is closed when the gateway stops. */
interface Closable {
  close(): unknown;
}

/** A listener. */
interface Stoppable {
  /** @param grace milliseconds for requests in progress */
  stop(grace: number): Promise<void>;
}

/** The open parts of a gateway. They are closed when it stops or cannot start: listeners first, then the other parts, the latest first. */
export class Closers {
  readonly #parts: Closable[] = [];
  readonly #servers: Stoppable[] = [];

  add<Part extends Closable>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }

  addServer<Server extends Stoppable>(server: Server): Server {
    this.#servers.push(server);
    return server;
  }

  /** @param grace how long requests in progress may take to finish, in milliseconds */
  async close(grace: number): Promise<void> {
    await Promise.all(this.#servers.splice(0).map((server) => server.stop(grace)));
    for (const part of this.#parts.splice(0).reverse()) await part.close();
  }
}

/** The time between two checks of files, in milliseconds. */
const INTERVAL = 10_000;

/** Reads files again; if it fails, the values that were read last stay in force. */
type Refresher = () => Promise<void>;

/** Calls all of them periodically, each again only once it has ended: a file system that does not answer holds a thread for each call. A failure of one does not affect the others. */
export function startRefreshers(
  refreshers: readonly Refresher[],
  logger: Pick<Logger, "warn">,
): { close(): void } {
  const running = new Set<Refresher>();
  const timer = setInterval(() => {
    for (const refresh of refreshers) {
      if (running.has(refresh)) continue;
      running.add(refresh);
      refresh()
        .catch((error) =>
          logger.warn(
            { event: "refresh-failed", err: error },
            "files or keys could not be read again: the old ones stay in use",
          ),
        )
        .finally(() => running.delete(refresh));
    }
  }, INTERVAL).unref();
  return { close: () => clearInterval(timer) };
}
