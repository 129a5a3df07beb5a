import { type BackoffLimits, backoffPause } from "../../sync/pacing.ts";

/** The pauses between attempts at one key, milliseconds. */
export const RETRY_LIMITS: BackoffLimits = { first: 500, most: 60_000 };
/** Keys that are worked on at once: with 80 ms for each write, enough for `WRITE_LIMITS`. */
export const AT_ONCE = 16;

/** Keys to work on: each at most once at a time, and again if it was touched meanwhile. A failed key waits; others do not wait for it. */
export class WorkQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #failed: (key: string, error: unknown, failures: number) => void;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #isOpen = false;

  /** @param failed called with each error of `work`, and how often the key has failed in a row */
  constructor(
    work: (key: string) => Promise<void>,
    failed: (key: string, error: unknown, failures: number) => void,
  ) {
    this.#work = work;
    this.#failed = failed;
  }

  /** Keys that wait or are worked on. */
  get size(): number {
    return this.#waiting.size + this.#running.size + this.#timers.size;
  }

  /** Begins to work; keys that were added before are taken now. */
  open(): void {
    this.#isOpen = true;
    this.#next();
  }

  /** Takes no further key. */
  close(): void {
    this.#isOpen = false;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#waiting.clear();
  }

  add(key: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    this.#waiting.add(key);
    this.#next();
  }

  #next(): void {
    if (!this.#isOpen) return;
    for (const key of this.#waiting) {
      if (this.#running.size >= AT_ONCE) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#work(key);
      this.#failures.delete(key);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.#failed(key, error, failures);
      if (this.#isOpen && !this.#waiting.has(key))
        this.#timers.set(
          key,
          setTimeout(() => this.add(key), backoffPause(failures, RETRY_LIMITS)),
        );
    }
    this.#running.delete(key);
    this.#next();
  }
}
