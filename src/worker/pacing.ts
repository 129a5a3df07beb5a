import { setTimeout as sleep } from "node:timers/promises";
import type { SourceProblem } from "./status.ts";

/** Limits of an exponential backoff, milliseconds. */
export interface BackoffLimits {
  readonly first: number;
  readonly most: number;
}

/** The pause before the next attempt after `failures` (from 1) in a row: doubled each time, half of it random. */
export function backoffPause(
  failures: number,
  { first, most }: BackoffLimits,
  random: () => number = Math.random,
): number {
  const full = Math.min(most, first * 2 ** Math.min(failures - 1, 30));
  return full / 2 + (random() * full) / 2;
}

/** Waits; false if the signal aborted it. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(milliseconds, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

/** A signal that one part of the program waits for and another part sends. */
export class Wakeup {
  #pending = false;
  #wake: (() => void) | undefined;

  /** Ends the current wait, or the next one. */
  wake(): void {
    this.#pending = true;
    this.#wake?.();
  }

  /** Waits until woken, aborted, or `milliseconds` (Infinity for no limit) are over. */
  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#pending && !signal.aborted && milliseconds > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      signal.addEventListener("abort", resolve as () => void, { once: true });
      const timer = Number.isFinite(milliseconds) ? setTimeout(resolve, milliseconds) : undefined;
      await promise;
      clearTimeout(timer);
      signal.removeEventListener("abort", resolve as () => void);
      this.#wake = undefined;
    }
    this.#pending = false;
  }
}

/** Calls `action` in the next turn of the event loop, once for all calls in this one. */
export class NextTurn {
  readonly #action: () => void;
  #scheduled: NodeJS.Immediate | undefined;

  constructor(action: () => void) {
    this.#action = action;
  }

  call(): void {
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined;
      this.#action();
    });
  }

  stop(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
  }
}

/** The size of a budget: `burst` at once, `perSecond` on average. */
export interface BudgetLimits {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket. Moments are milliseconds of a monotonic clock. */
export class Budget {
  readonly #interval: number;
  readonly #ahead: number;
  /** When the bucket is full again. */
  #full = Number.NEGATIVE_INFINITY;

  constructor({ perSecond, burst }: BudgetLimits) {
    this.#interval = 1000 / perSecond;
    this.#ahead = this.#interval * (burst - 1);
  }

  /** Milliseconds until the next token; 0 if one is available. */
  wait(now: number): number {
    return Math.max(0, this.#full - this.#ahead - now);
  }

  spend(now: number): void {
    this.#full = Math.max(this.#full, now) + this.#interval;
  }
}

/**
 * The failures of one resource since it last worked. They become a problem after a while, since an API server may restart; and so does another
 * code, since a starting one forbids for a moment what it allows.
 */
export class Failures {
  readonly #problemAfter: number;
  #since: number | undefined;
  #code = "";
  #other: { readonly code: string; readonly since: number } | undefined;

  /** @param problemAfter milliseconds */
  constructor(problemAfter: number) {
    this.#problemAfter = problemAfter;
  }

  /** @param now by `performance.now()` */
  failed(code: string, now: number): void {
    if (this.#since === undefined) [this.#since, this.#code] = [now, code];
    else if (code === this.#code) this.#other = undefined;
    else if (code !== this.#other?.code) this.#other = { code, since: now };
  }

  /** It works, or nothing is expected of it. */
  over(): void {
    this.#since = undefined;
    this.#other = undefined;
  }

  /** What is wrong at `now`, with the begin of all failures; undefined if nothing is, or not for long enough. */
  problem(now: number): SourceProblem | undefined {
    if (this.#since === undefined || now - this.#since < this.#problemAfter) return undefined;
    if (this.#other !== undefined && now - this.#other.since >= this.#problemAfter) {
      this.#code = this.#other.code;
      this.#other = undefined;
    }
    return { code: this.#code, since: this.#since };
  }
}
