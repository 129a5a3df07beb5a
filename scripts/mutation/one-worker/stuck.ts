/** Captured when this module is loaded: tests replace them. */
const { setInterval, clearInterval } = globalThis;
const utilization = performance.eventLoopUtilization.bind(performance);
const cpuUsage = process.threadCpuUsage.bind(process);

/** How often the bounds are looked at, in milliseconds. */
const EVERY = 100;

/** What a step that works on and on fails with; it still runs. */
export const LOOPS = "the mutant goes on and on with pauses";

/** Bounds on a step. How busy the machine is hardly changes what is measured. */
export interface Bounds {
  /** How long the thread may wait for events, in milliseconds. */
  readonly idle: number;
  /** CPU time of the thread, in microseconds. */
  readonly work: number;
}

/** How long this thread has waited for events since it started, in milliseconds. */
export function idleTime(): number {
  return utilization().idle;
}

/** CPU time of this thread, in microseconds. */
export function workTime(): number {
  const { user, system } = cpuUsage();
  return user + system;
}

/**
 * Ends a wait for something that never comes, such as a promise that a mutant does not resolve.
 * @throws {Error} when a bound was exceeded
 */
export async function unlessStuck<T>(step: () => T | Promise<T>, { idle, work }: Bounds): Promise<T> {
  const mostIdle = idleTime() + idle;
  const mostWork = workTime() + work;
  let timer: ReturnType<typeof setInterval> | undefined;
  const stuck = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (idleTime() > mostIdle) reject(new Error("the mutant waits for something that never comes"));
      if (workTime() > mostWork) reject(new Error(LOOPS));
    }, EVERY);
  });
  try {
    return await Promise.race([step(), stuck]);
  } finally {
    clearInterval(timer);
  }
}
