/** How long the thread works before other work has its turn, in milliseconds. */
const TURN_MILLISECONDS = 4;
/** Steps of a turn at most: in a Worker the clock stands still while it computes. */
const MOST_STEPS = 32;

/** What turns are measured and separated by. */
export interface TurnClock {
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** Runs something after the other work that waits for the thread now. */
  readonly nextTurn: (run: () => void) => void;
}

/**
 * Runs steps of all pushes in turns with other work, so that queries are answered in between, however many pushes arrive at once: one
 * of them has each turn, in the order in which they ask.
 */
export class Turns {
  readonly #clock: TurnClock;
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;
  #endsAt = Number.NEGATIVE_INFINITY;
  #steps = 0;

  constructor(clock: TurnClock) {
    this.#clock = clock;
  }

  /** Runs steps to their end. They begin at once if no push worked just now: a small one waits for nothing. */
  async run<Result>(steps: Generator<void, Result>): Promise<Result> {
    if (!this.#mayBegin()) await this.#turn();
    for (;;) {
      if (!this.#mayGoOn()) {
        await this.#turn();
        this.#steps++;
      }
      const step = steps.next();
      if (step.done) return step.value;
    }
  }

  #mayBegin(): boolean {
    if (this.#waiting.length > 0) return false;
    const now = this.#clock.now();
    if (now - this.#endsAt >= TURN_MILLISECONDS) this.#start(now);
    return true;
  }

  #mayGoOn(): boolean {
    return this.#steps++ < MOST_STEPS && this.#clock.now() < this.#endsAt;
  }

  #start(now: number): void {
    this.#endsAt = now + TURN_MILLISECONDS;
    this.#steps = 0;
  }

  #turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.nextTurn(() => {
      this.#isScheduled = false;
      this.#start(this.#clock.now());
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }
}
