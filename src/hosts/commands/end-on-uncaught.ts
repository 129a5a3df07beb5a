import type { Logger } from "../node/logger.ts";

/** How long `stop` may take before the process ends without it, in milliseconds. */
const STOP_TIMEOUT = 10_000;

/**
 * Ends the process after an error that nothing caught: what a process holds in memory cannot be trusted then, and a process manager
 * starts it anew. It logs the error, lets `stop` answer what is in flight, and exits with 1.
 * @returns a function that takes the handler away again
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
