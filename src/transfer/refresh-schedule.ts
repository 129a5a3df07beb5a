import { type RefreshPolicy, spread } from "./refresh-policy.ts";

/** A try to take over the newest state, and how far it is. */
export interface Attempt {
  /** When the step that runs began, in Unix milliseconds. */
  since: number;
  /** How long that step may take. */
  timeout: number;
}

/** The share of its timeout after which somebody who waits no longer counts on another one's attempt. */
const PATIENCE = 0.25;

/**
 * Knows how old what is answered from is, and which query may request a newer state. An attempt is marked by times alone: in Workers a promise of
 * one request must not be awaited by another one, since it never settles when the first is cancelled (Cloudflare, "Errors
 * and exceptions", cross-request promises). All times are those of one clock; where it is set back, differences count.
 */
export class RefreshSchedule {
  readonly #policy: RefreshPolicy;
  readonly #random: () => number;
  #asOf = Number.NEGATIVE_INFINITY;
  #refreshAfter = 0;
  #attempt: Attempt | undefined;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #retryIn = 0;

  constructor(policy: RefreshPolicy, random: () => number) {
    this.#policy = policy;
    this.#random = random;
  }

  /** When the primary said what is answered from; -Infinity for never. */
  get asOf(): number {
    return this.#asOf;
  }

  /** Whether nothing needs to be done at `now`. */
  isYoung(now: number): boolean {
    return Math.abs(now - this.#asOf) < this.#refreshAfter;
  }

  /** Whether what is answered from may be behind the primary by more than the bound. */
  isStale(now: number): boolean {
    return !(Math.abs(now - this.#asOf) <= this.#policy.limit);
  }

  /** Whether the last attempt failed too short a time ago for another one. */
  isBackingOff(now: number): boolean {
    return Math.abs(now - this.#failedAt) < this.#retryIn;
  }

  /** Whether a query may refresh now. A waiting query refreshes as well if an attempt has not moved for a while. */
  mayAsk(now: number, waits: boolean): boolean {
    if (this.isBackingOff(now)) return false;
    const attempt = this.#attempt;
    if (attempt === undefined) return true;
    return Math.abs(now - attempt.since) >= attempt.timeout * (waits ? PATIENCE : 1);
  }

  begin(now: number): Attempt {
    this.#attempt = { since: now, timeout: this.#policy.stateTimeout };
    return this.#attempt;
  }

  /** An attempt brought nothing that is newer than what is there. */
  end(attempt: Attempt): void {
    if (this.#attempt === attempt) this.#attempt = undefined;
  }

  /** Whether what the primary said at `asOf` is newer than what is answered from. */
  isNews(asOf: number, now: number): boolean {
    return Math.abs(now - asOf) <= Math.abs(now - this.#asOf);
  }

  /** An attempt brought what the primary said at `asOf`, and it is answered from. */
  succeeded(attempt: Attempt, asOf: number): void {
    this.end(attempt);
    this.#failures = 0;
    this.#retryIn = 0;
    this.#asOf = asOf;
    this.#refreshAfter = spread(this.#policy.refresh, this.#random());
  }

  /** @returns the time until the next refresh, in milliseconds; undefined if a query that lost patience refreshes already */
  failed(attempt: Attempt, now: number): number | undefined {
    if (this.#attempt !== attempt) return undefined;
    this.#attempt = undefined;
    return this.#backOff(now);
  }

  #backOff(now: number): number {
    const { retry, longestRetry } = this.#policy;
    this.#failedAt = now;
    this.#retryIn = spread(Math.min(longestRetry, retry * 2 ** this.#failures++), this.#random());
    return this.#retryIn;
  }
}
