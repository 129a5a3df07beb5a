import type { Logger } from "../node/process.ts";

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

/** The output of a command in whole lines: `out` for results, `err` for messages. */
export interface Output {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

const PARENT_CHECK_MILLISECONDS = 500;

/**
 * The longest time for a clean stop in milliseconds: twice that for requests in flight. Kubernetes waits for
 * 30 s.
 */
const STOP_LIMIT = 10_000;

/**
 * A signal that SIGTERM and SIGINT abort, for a clean stop, also of a command that is still starting. Where
 * the stop takes longer than 10 s, such as while a file system does not answer, the process kills itself: an
 * exit would wait for the threads that hang there.
 */
export function stopSignal(logger: Pick<Logger, "fatal">, limit = STOP_LIMIT): AbortSignal {
  const controller = new AbortController();
  const stop = () => {
    controller.abort();
    setTimeout(() => {
      logger.fatal(
        { event: "stop-hangs" },
        `the process did not stop within ${limit / 1000} s, and is killed: does the file system of its files (--state-dir, --manifests) answer?`,
      );
      process.kill(process.pid, "SIGKILL");
    }, limit).unref();
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  if (process.env.npm_lifecycle_event !== undefined) stopWithParent(stop);
  return controller.signal;
}

// npm runs a script through a shell, and shells such as dash end on SIGTERM without forwarding it: the
// command would keep running unnoticed, and keep its port.
function stopWithParent(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, PARENT_CHECK_MILLISECONDS);
  timer.unref();
}
