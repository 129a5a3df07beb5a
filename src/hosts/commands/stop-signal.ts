const PARENT_CHECK_MILLISECONDS = 500;

/** A signal that SIGTERM and SIGINT abort, for a clean stop. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  if (process.env.npm_lifecycle_event !== undefined) stopWithParent(controller);
  return controller.signal;
}

// npm runs a script through a shell, and shells such as dash end on SIGTERM without forwarding it: the command
// would keep running unnoticed, and keep its port.
function stopWithParent(controller: AbortController): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    controller.abort();
  }, PARENT_CHECK_MILLISECONDS);
  timer.unref();
}
