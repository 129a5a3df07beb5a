/** The clock of forwarding. */
export interface ForwardClock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Runs a function once, later. @returns a function that cancels it */
  setTimer(milliseconds: number, run: () => void): () => void;
}

/** The host's clock. */
export const monotonicClock: ForwardClock = {
  now: () => performance.now(),
  setTimer(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};
