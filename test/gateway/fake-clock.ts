import type { Clock } from "../../src/gateway/clock.ts";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until it is moved. */
export class FakeClock implements Clock {
  #now: number;
  #order = 0;
  readonly #timers = new Set<Timer>();
  readonly #turns: (() => void)[] = [];

  constructor(now = 1_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimer(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.#now + milliseconds, order: this.#order++, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  nextTurn(run: () => void): void {
    this.#turns.push(run);
  }

  /**
   * Lets one turn pass: timers that are due run, and what waits for a turn, but nothing that it has wait for
   * another one.
   */
  async turn(): Promise<void> {
    const due = [...this.#timers].filter(({ at }) => at <= this.#now);
    for (const timer of due) this.#timers.delete(timer);
    for (const run of [...due.map((timer) => timer.run), ...this.#turns.splice(0)]) run();
    await settle();
  }

  /** Lets time pass without letting any timer run, as a busy process does. */
  stall(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Lets time pass, and the timers run that are due, each at its time, with all turns that they need. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      await settle();
      if (this.#turns.length > 0) {
        this.#turns.shift()!();
        continue;
      }
      const [next] = [...this.#timers]
        .filter(({ at }) => at <= end)
        .sort((one, other) => one.at - other.at || one.order - other.order);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = Math.max(this.#now, end);
  }

  get timers(): number {
    return this.#timers.size;
  }
}

/** A clock whose turns pass by themselves, while its time does not. */
export class TurningClock extends FakeClock {
  override nextTurn(run: () => void): void {
    globalThis.setImmediate(run);
  }
}

/** Lets everything that waits for nothing but promises go on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}
