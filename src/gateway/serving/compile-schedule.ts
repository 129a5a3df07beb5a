import type { Clock } from "../clock.ts";
import { inNextTurn, type Turns } from "../turns.ts";

/** After a run: when it ended, and how long it took. */
interface Pause {
  readonly from: number;
  readonly length: number;
}

const NO_PAUSE: Pause = { from: 0, length: 0 };
/** The longest that one step of a compilation counts for, in milliseconds. A step that takes longer was interrupted: a process that was halted for a minute must not pause for another one. */
const MOST_STEP = 100;

/**
 * Decides when to compile: many requests cost one run, and after each run as much time passes as it took, so that a storm of changes
 * leaves half of the processor to queries. Small changes do not wait for the pause after a large run: they have half of that time, at most. A
 * long run has many turns.
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
  /** Whether a large change waits for the next run. */
  #isLarge = false;
  #afterSmall = NO_PAUSE;
  #afterLarge = NO_PAUSE;

  /** @param compile compiles the newest state, in steps; must not throw. */
  constructor(clock: Clock, turns: Turns, compile: () => Generator<void>) {
    this.#clock = clock;
    this.#turns = turns;
    this.#compile = compile;
  }

  /**
   * Resolves when a run that began after this call has ended.
   * @param isSmall whether all that is to be compiled is small
   */
  request(isSmall = false): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!isSmall && !this.#isLarge) {
        this.#isLarge = true;
        this.#takeBack();
      }
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
    this.#isLarge = true;
    return this.#begin();
  }

  #begin(): Promise<void> {
    this.#takeBack();
    this.#isRunning = true;
    return this.#turns.run(this.#run(), { isUrgent: true });
  }

  #takeBack(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #runLater(): void {
    if (this.#cancel !== undefined) return;
    const delay = Math.max(this.#left(this.#afterSmall), this.#isLarge ? this.#left(this.#afterLarge) : 0);
    const run = () => void this.#begin();
    this.#cancel = delay === 0 ? nextTurn(this.#clock, run) : this.#clock.setTimer(delay, run);
  }

  /** What is left of a pause, in milliseconds. Bounded on both sides, for a clock that was set back. */
  #left({ from, length }: Pause): number {
    return Math.max(0, Math.min(from + length - this.#clock.now(), length));
  }

  *#run(): Generator<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const isLarge = this.#isLarge;
    this.#isLarge = false;
    let took = 0;
    const steps = this.#compile();
    for (let isDone = false; !isDone; ) {
      const startedAt = this.#clock.now();
      isDone = steps.next().done === true;
      took += Math.min(Math.max(0, this.#clock.now() - startedAt), MOST_STEP);
      if (!isDone) yield;
    }
    const pause = { from: this.#clock.now(), length: took };
    if (isLarge) this.#afterLarge = pause;
    else this.#afterSmall = pause;
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
