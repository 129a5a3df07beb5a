import type { Clock } from "./clock.ts";

/**
 * Decides when to compile: many requests cost one run, and after each run as much time passes as it
 * took, so that a storm of changes leaves half of the processor to queries.
 */
export class CompileSchedule {
  readonly #clock: Clock;
  readonly #compile: () => void;
  #waiting: (() => void)[] = [];
  #cancel: (() => void) | undefined;
  #endedAt = 0;
  #took = 0;

  /** @param compile compiles the newest state; must not throw. */
  constructor(clock: Clock, compile: () => void) {
    this.#clock = clock;
    this.#compile = compile;
  }

  /** Resolves when a run that began after this call has ended. */
  request(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#cancel !== undefined) return;
      const left = this.#endedAt + this.#took - this.#clock.now();
      // Bounded on both sides, for a clock that was set back.
      const delay = Math.max(0, Math.min(left, this.#took));
      this.#cancel = this.#clock.setTimer(delay, () => this.runNow());
    });
  }

  /** Compiles at once, on behalf of everyone who waits. */
  runNow(): void {
    this.stop();
    const waiting = this.#waiting;
    this.#waiting = [];
    const startedAt = this.#clock.now();
    this.#compile();
    this.#endedAt = this.#clock.now();
    this.#took = Math.max(0, this.#endedAt - startedAt);
    for (const resolve of waiting) resolve();
  }

  /** Calls off the run that is due. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
