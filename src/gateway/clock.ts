import type { Steps } from "../dns/steps.ts";

/** Where the time comes from. */
export interface Clock {
  /**
   * Milliseconds. Leases, ages and deadlines run on it, so it should not jump; while the wall clock is not
   * set it is Unix time, too.
   */
  now(): number;
  /**
   * By how many milliseconds the wall clock, which may be set to any time, is ahead of `now`: for what leaves
   * the process. Default: 0.
   */
  wallOffset?(): number;
  /** A clock that runs on while the program is started again. Undefined where the host has none. */
  uptime?(): Uptime | undefined;
  /** Runs something once, later; gives back what stops it. */
  setTimer(milliseconds: number, run: () => void): () => void;
  /** Runs something after the other work that waits for the thread now. Default: a timer of 0 ms. */
  nextTurn?(run: () => void): void;
}

/** How long a machine has been running. */
export interface Uptime {
  /** Another one after each start of the machine. Times of different boots cannot be compared. */
  readonly boot: string;
  /** Milliseconds. */
  readonly at: number;
}

/** What the wall clock shows at an instant of `clock`, in Unix milliseconds. */
export function unixTime(clock: Pick<Clock, "wallOffset">, at: number): number {
  return at + (clock.wallOffset?.() ?? 0);
}

/** Waits for a promise, for so many milliseconds at most. @throws what it rejects with until then */
export async function atMost(
  milliseconds: number,
  clock: Pick<Clock, "setTimer">,
  awaited: Promise<unknown>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = clock.setTimer(milliseconds, resolve);
  awaited.then(() => resolve(), reject);
  await promise.finally(stop);
}

/** A turn of the event loop: `setImmediate` where the host has it, since a timer waits for at least 1 ms. */
function nextTurn(run: () => void): void {
  if (typeof setImmediate === "function") setImmediate(run);
  else setTimeout(run, 0);
}

/**
 * The wall clock, for hosts that have no other one: in an isolate of a Worker time does not pass while it
 * computes. Its timers do not keep a process alive.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(milliseconds, run) {
    const timer: unknown = setTimeout(run, milliseconds);
    // Node gives an object, Workers a number.
    if (typeof timer === "object" && timer !== null && "unref" in timer) (timer as NodeJS.Timeout).unref();
    return () => clearTimeout(timer as NodeJS.Timeout);
  },
  nextTurn,
};

/**
 * The wall clock, with timers that keep a process alive: for what somebody waits for. Right for Workers, and
 * for functions that are frozen between requests, when other clocks stand still.
 */
export const waitingClock: Clock = {
  now: () => Date.now(),
  setTimer(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  nextTurn,
};

/**
 * Two clocks that differ by less show the same time, in milliseconds: they are read one after the other, and
 * NTP slews one of them.
 */
export const CLOCK_JITTER = 1000;

/**
 * A clock that goes on from the time at the program's start, whatever becomes of the wall clock. For
 * processes that live.
 */
export function createSteadyClock({ setTimer }: Pick<Clock, "setTimer"> = systemClock): Clock {
  const origin = Math.round(Date.now() - performance.now());
  const now = () => Math.floor(origin + performance.now());
  let offset = 0;
  const wallOffset = () => {
    const ahead = Date.now() - now();
    // One time of a lease is shown as the same Unix time again.
    if (Math.abs(ahead - offset) >= CLOCK_JITTER) offset = ahead;
    return offset;
  };
  return { now, wallOffset, setTimer, nextTurn };
}

/** How long the thread works before queries have their turn, in milliseconds. */
const TURN_MILLISECONDS = 1;
/** Steps of a turn at most: in a Worker the clock does not move while it computes. */
const MOST_STEPS = 256;

/** One turn of so many is for work that can wait, however much other work there is. */
const LATER_EVERY = 8;
/** Pieces of such work that may wait: above it the gateway takes no more. */
const MOST_LATER = 256;

/** What turns are measured and separated by. */
type TurnClock = Pick<Clock, "now" | "nextTurn" | "setTimer">;

interface Turn {
  readonly endsAt: number;
  steps: number;
}

type Waiting = (turn: Turn) => void;

/**
 * Runs all long work of a gateway in turns with queries. One piece of work has each turn, in the order of
 * arrival, so that a query waits for few of them, however many pushes are read, compared and compiled. Work
 * that begins has its first steps before the rest, in the time of one turn for all that begins between two
 * turns: small pushes do not wait for large ones.
 */
export class Turns {
  /**
   * Runs listings, explanations and counts, after pushes, queries and transfers. `isHigh`: too many of them
   * wait.
   */
  readonly later: Pick<Turns, "run"> & { readonly isHigh: boolean };
  readonly #clock: TurnClock;
  readonly #waiting: Waiting[] = [];
  readonly #later: Waiting[] = [];
  #turns = 0;
  #isScheduled = false;
  /** What begins has this turn. Undefined if nothing began in this turn of the event loop. */
  #first: Turn | undefined;

  constructor(clock: TurnClock) {
    this.#clock = clock;
    const waiting = this.#later;
    this.later = {
      run: (steps, mostSteps) => this.#run(steps, waiting, mostSteps),
      get isHigh() {
        return waiting.length > MOST_LATER;
      },
    };
  }

  /** Runs steps to their end. @param mostSteps of a turn */
  run<Result>(steps: Steps<Result>, mostSteps?: number): Promise<Result> {
    return this.#run(steps, this.#waiting, mostSteps);
  }

  async #run<Result>(steps: Steps<Result>, waiting: Waiting[], mostSteps = MOST_STEPS): Promise<Result> {
    let turn: Turn | undefined = this.#firstTurn();
    for (;;) {
      if (turn === undefined || turn.steps >= mostSteps || this.#clock.now() >= turn.endsAt)
        turn = await this.#next(waiting);
      turn.steps++;
      const { done, value } = steps.next();
      if (done === true) return value;
      if (value === undefined) continue;
      await value;
      turn = undefined;
    }
  }

  #firstTurn(): Turn {
    this.#schedule();
    this.#first ??= this.#begin();
    return this.#first;
  }

  #begin(): Turn {
    return { endsAt: this.#clock.now() + TURN_MILLISECONDS, steps: 0 };
  }

  #next(waiting: Waiting[]): Promise<Turn> {
    const { promise, resolve } = Promise.withResolvers<Turn>();
    waiting.push(resolve);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    inNextTurn(this.#clock, () => {
      this.#isScheduled = false;
      this.#first = undefined;
      const [first, second] =
        ++this.#turns % LATER_EVERY === 0 ? [this.#later, this.#waiting] : [this.#waiting, this.#later];
      (first.shift() ?? second.shift())?.(this.#begin());
      if (this.#waiting.length + this.#later.length > 0) this.#schedule();
    });
  }
}

/**
 * Runs something after the other work that waits for the thread now; a timer of 0 ms runs more than 1 ms
 * later.
 */
export function inNextTurn(clock: TurnClock, run: () => void): void {
  if (clock.nextTurn === undefined) clock.setTimer(0, run);
  else clock.nextTurn(run);
}
