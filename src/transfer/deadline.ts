import type { Clock } from "../gateway/clock.ts";

/** Resolves after a time, or once `until` has settled. */
export function sleep(clock: Clock, milliseconds: number, until?: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(milliseconds, resolve);
    const end = () => {
      cancel();
      resolve();
    };
    until?.then(end, end);
  });
}

/**
 * Runs something that is given up after a time.
 * @throws {Error} `late` when that time has passed
 */
export function within<Result>(
  clock: Clock,
  milliseconds: number,
  late: string,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(milliseconds, () => {
      const error = new Error(`${late} within ${milliseconds} ms`);
      reject(error);
      controller.abort(error);
    });
    run(controller.signal).then(resolve, reject).finally(cancel);
  });
}
