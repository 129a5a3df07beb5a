import type { Logger } from "../../node/logger.ts";

/** The longest time for `stop` in milliseconds; then the process ends without it. */
const STOP_TIMEOUT = 10_000;

/**
 * Ends the process after an uncaught error: its memory cannot be trusted any more, and a process manager
 * restarts it. It logs the error, lets `stop` finish requests in flight, and exits with 1.
 * @returns a function that removes the handler
 */
export function endOnUncaught(logger: Logger, stop: () => Promise<void> = async () => {}): () => void {
  let isEnding = false;
  const end = (error: unknown, origin: string) => {
    logger.fatal(
      { event: "uncaught-exception", origin, err: error },
      "an unexpected error: the process finishes requests in flight and exits with 1",
    );
    if (isEnding) return;
    isEnding = true;
    const exit = () => process.exit(1);
    setTimeout(exit, STOP_TIMEOUT);
    stop().then(exit, (failure) => {
      logger.fatal({ event: "stop-failed", err: failure }, "stopping failed");
      exit();
    });
  };
  process.on("uncaughtException", end);
  return () => process.off("uncaughtException", end);
}
