import type { Clock } from "./clock.ts";
import { inNextTurn, type Turns } from "./turns.ts";

/**
 * Decides when to compile: many requests cost one run, and after each run as much time passes as it took, so that a storm of changes
 * leaves half of the processor to queries. A long run has many turns.
 */
export class CompileSchedule {
  readonly #clock: Clock;
  readonly #turns: Turns;
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
  constructor(clock: Clock, turns: Turns, compile: () => Generator<void>) {
    this.#clock = clock;
    this.#turns = turns;
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
   * Compiles at once, on behalf of everyone who waits: a run that fits into one turn has ended when this returns. While a run is in
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
    return this.#turns.run(this.#run(), { isUrgent: true });
  }

  #runLater(): void {
    if (this.#cancel !== undefined) return;
    const left = this.#endedAt + this.#took - this.#clock.now();
    // Bounded on both sides, for a clock that was set back.
    const delay = Math.max(0, Math.min(left, this.#took));
    const run = () => void this.runNow();
    this.#cancel = delay === 0 ? nextTurn(this.#clock, run) : this.#clock.setTimer(delay, run);
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

/** Runs something in the next turn. @returns what takes it back */
function nextTurn(clock: Clock, run: () => void): () => void {
  let isWanted = true;
  inNextTurn(clock, () => {
    if (isWanted) run();
  });
  return () => {
    isWanted = false;
  };
}
