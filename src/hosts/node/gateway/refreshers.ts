import type { Logger } from "../logger.ts";

/** The time between two checks of files, in milliseconds. */
const INTERVAL = 10_000;

/** Reads files again; if it fails, the values that were read last stay in force. */
export type Refresher = () => Promise<void>;

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
