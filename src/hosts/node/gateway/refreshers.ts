import type { Logger } from "../logger.ts";

/** The time between two checks of files, in milliseconds. */
const INTERVAL = 10_000;

/** Reads files again; if it fails, the values that were read last stay in force. */
export type Refresher = () => Promise<void>;

/** Calls all of them periodically; a failure of one does not affect the others. */
export function startRefreshers(refreshers: readonly Refresher[], logger: Logger): { close(): void } {
  const timer = setInterval(() => {
    for (const refresh of refreshers)
      refresh().catch((error) =>
        logger.warn(
          { event: "refresh-failed", err: error },
          "files or keys could not be read again: the old ones stay in use",
        ),
      );
  }, INTERVAL).unref();
  return { close: () => clearInterval(timer) };
}
