import type { Logger } from "../logger.ts";

/** How often files are looked at, in milliseconds. */
const INTERVAL = 10_000;

/** Looks at files again; what fails leaves in force what was read last. */
export type Refresher = () => Promise<void>;

/** Calls all of them again and again, each whatever becomes of the others. */
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
