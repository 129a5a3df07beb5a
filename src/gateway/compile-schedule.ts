import type { Clock } from "./clock.ts";
import { inSlices } from "./in-slices.ts";

/**
 * Decides when to compile: many requests cost one run, and after each run as much time passes as it took, so that a storm of changes
 * leaves half of the processor to queries. A long run is cut into slices.
 */
export class CompileSchedule {
  readonly #clock: Clock;
  readonly #compile: () => Generator<void>;
  #waiting: (() => void)[] = [];
  /** Takes back the run that is to begin. */
  #cancel: (() => void) | undefined;
  #isRunning = false;
  /** Whether the next run follows the one in progress at once. */
  #isUrgent = false;
  #endedAt = 0;
  #took = 0;

  /** @param compile compiles the newest state, in steps; must not throw. */
  constructor(clock: Clock, compile: () => Generator<void>) {
    this.#clock = clock;
    this.#compile = compile;
  }

  /** Resolves when a run that began after this call has ended. */
  request(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isRunning) this.#runLater();
    });
  }

  /**
   * Compiles at once, on behalf of everyone who waits: a run that fits into one slice has ended when this returns. While a run is in
   * progress the next one follows it.
   * @returns what resolves when a run has ended
   */
  runNow(): Promise<void> {
    if (this.#isRunning) {
      this.#isUrgent = true;
      return this.request();
    }
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isRunning = true;
    return inSlices(this.#clock, this.#run());
  }

  #runLater(): void {
    if (this.#cancel !== undefined) return;
    const left = this.#endedAt + this.#took - this.#clock.now();
    // Bounded on both sides, for a clock that was set back.
    const delay = Math.max(0, Math.min(left, this.#took));
    const run = () => void this.runNow();
    this.#cancel = delay === 0 ? inNextTurn(this.#clock, run) : this.#clock.setTimer(delay, run);
  }

  *#run(): Generator<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    let took = 0;
    const steps = this.#compile();
    for (let isDone = false; !isDone; ) {
      const startedAt = this.#clock.now();
      isDone = steps.next().done === true;
      took += Math.max(0, this.#clock.now() - startedAt);
      if (!isDone) yield;
    }
    this.#endedAt = this.#clock.now();
    this.#took = took;
    this.#isRunning = false;
    for (const resolve of waiting) resolve();
    if (this.#isUrgent) {
      this.#isUrgent = false;
      void this.runNow();
    } else if (this.#waiting.length > 0) this.#runLater();
  }
}

/** Runs something in the next turn, as a timer of 0 ms does more than 1 ms later. @returns what takes it back */
function inNextTurn(clock: Clock, run: () => void): () => void {
  if (clock.nextTurn === undefined) return clock.setTimer(0, run);
  let isWanted = true;
  clock.nextTurn(() => {
    if (isWanted) run();
  });
  return () => {
    isWanted = false;
  };
}
