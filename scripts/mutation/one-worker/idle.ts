/** Captured when this module is loaded: tests replace them. */
const { setInterval, clearInterval } = globalThis;
const utilization = performance.eventLoopUtilization.bind(performance);

/** How often the idle time is read, in milliseconds. */
const EVERY = 100;

/** How long this thread has waited for events since it started, in milliseconds. A busy machine does not change it much. */
export function idleTime(): number {
  return utilization().idle;
}

/**
 * Ends a wait for something that never comes, such as a promise that a mutant does not resolve.
 * @param atMost how long this thread may be idle meanwhile, in milliseconds.
 * @throws {Error} when it was idle for longer; the step goes on.
 */
export async function unlessIdle<T>(step: () => T | Promise<T>, atMost: number): Promise<T> {
  const end = idleTime() + atMost;
  let timer: ReturnType<typeof setInterval> | undefined;
  const idle = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (idleTime() > end) reject(new Error("the mutant waits for something that never comes"));
    }, EVERY);
  });
  try {
    return await Promise.race([step(), idle]);
  } finally {
    clearInterval(timer);
  }
}
