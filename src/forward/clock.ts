/** Where the time of forwarding comes from. */
export interface ForwardClock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Runs something once, later; gives back what stops it. */
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
