/** Where the time comes from. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Runs something once, later; gives back what stops it. */
  setTimer(milliseconds: number, run: () => void): () => void;
}

/** The host's clock. Its timers do not keep a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(milliseconds, run) {
    const timer: unknown = setTimeout(run, milliseconds);
    // Node gives an object, Workers a number.
    if (typeof timer === "object" && timer !== null && "unref" in timer) (timer as NodeJS.Timeout).unref();
    return () => clearTimeout(timer as NodeJS.Timeout);
  },
};

/** The host's clock, with timers that keep a process alive: for what somebody waits for. */
export const waitingClock: Clock = {
  now: () => Date.now(),
  setTimer(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};
