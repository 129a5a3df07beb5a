import { type Clock, unixTime } from "../gateway/clock.ts";

/** The clock of a gateway whose wall clock is that of a shared log, so that times in rows mean the same on all gateways. */
export class SharedClock implements Clock {
  readonly #clock: Clock;
  /** By how many milliseconds the log's clock is ahead. */
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = unixTime(clock, 0);
  }

  now(): number {
    return this.#clock.now();
  }

  wallOffset(): number {
    return this.#offset;
  }

  setTimer(milliseconds: number, run: () => void): () => void {
    return this.#clock.setTimer(milliseconds, run);
  }

  nextTurn(run: () => void): void {
    if (this.#clock.nextTurn === undefined) this.#clock.setTimer(0, run);
    else this.#clock.nextTurn(run);
  }

  /** Takes over what the log's clock showed. @param since when it was asked, by this clock */
  see(since: number, shown: number): void {
    // It showed that at some instant between then and now: an offset that may be right stays.
    this.#offset = Math.min(Math.max(this.#offset, shown - this.now()), shown - since);
  }
}
