import type { Clock } from "../clock.ts";

/** The longest delay that timers take, in milliseconds (HTML, "timer initialization steps"): with more they fire at once. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** Calls back when the next lease expires. */
export interface LeaseWatch {
  /** The next lease expires at `at` (Unix milliseconds, Infinity for never); it may be too early to look, but not too late. */
  watch(at: number): void;
  stop(): void;
}

/** A timer of the process. */
export class LeaseTimer implements LeaseWatch {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  #set: { readonly at: number; readonly cancel: () => void } | undefined;

  /** @param onDue drops what has expired and calls `watch` again; may be called too early. */
  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Sees to a call at `at` (Unix milliseconds, Infinity for never), or before. */
  watch(at: number): void {
    if (this.#set !== undefined && this.#set.at <= at) return;
    this.stop();
    if (at === Number.POSITIVE_INFINITY) return;
    const delay = Math.min(Math.max(0, at - this.#clock.now()), LONGEST_DELAY);
    const cancel = this.#clock.setTimer(delay, () => {
      this.#set = undefined;
      this.#onDue();
    });
    this.#set = { at, cancel };
  }

  stop(): void {
    this.#set?.cancel();
    this.#set = undefined;
  }
}
