import { setTimeout as sleep } from "node:timers/promises";
import type { SourceProblem } from "./object-source.ts";

/** Limits of an exponential backoff, milliseconds. */
export interface BackoffLimits {
  readonly first: number;
  readonly most: number;
}

/**
 * The pause before the next attempt after `failures` (from 1) in a row: doubled each time, half of it random.
 */
export function backoffPause(failures: number, { first, most }: BackoffLimits): number {
  const full = Math.min(most, first * 2 ** Math.min(failures - 1, 30));
  return (full * (1 + Math.random())) / 2;
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

/** The longest timer of Node, about 25 days. */
const LONGEST_PAUSE = 2 ** 31 - 1;

/** A signal that one part of the program waits for and another part sends. */
export class Wakeup {
  #woken = Promise.withResolvers<unknown>();

  /** Ends the current wait, or the next one. */
  wake(): void {
    this.#woken.resolve(undefined);
  }

  /**
   * Waits until woken, aborted, or `milliseconds` (Infinity for no limit) are over; callers look again for
   * what they wait for.
   */
  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = this.#woken;
    const timer = setTimeout(resolve, Math.min(milliseconds, LONGEST_PAUSE));
    signal.addEventListener("abort", resolve, { once: true });
    if (!signal.aborted) await promise;
    clearTimeout(timer);
    signal.removeEventListener("abort", resolve);
    this.#woken = Promise.withResolvers();
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
 * The failures of one resource since it last worked. They become a problem after a while, since an API server
 * may restart; and so does another code, since a starting one forbids for a moment what it allows.
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

  /**
   * What is wrong at `now`, with the begin of all failures; undefined if nothing is, or not for long enough.
   */
  problem(now: number): SourceProblem | undefined {
    if (this.#since === undefined || now - this.#since < this.#problemAfter) return undefined;
    if (this.#other !== undefined && now - this.#other.since >= this.#problemAfter) {
      this.#code = this.#other.code;
      this.#other = undefined;
    }
    return { code: this.#code, since: this.#since };
  }
}
