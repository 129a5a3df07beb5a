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
 * Knows how old what is answered from is, and which query may request a newer state. An attempt is marked by
 * times alone: in Workers a promise of one request must not be awaited by another one, since it never settles
 * when the first is cancelled (Cloudflare, "Errors and exceptions", cross-request promises). All times are
 * those of one clock; where it is set back, differences count.
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

  /**
   * Whether a query may refresh now. A waiting query refreshes as well if an attempt has not moved for a
   * while.
   */
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

  /** An attempt brought something older than what is there: the next one may bring something newer. */
  postpone(attempt: Attempt, now: number): void {
    this.end(attempt);
    this.#failedAt = now;
    this.#retryIn = spread(this.#policy.retry, this.#random());
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

  /**
   * @returns the time until the next refresh, in milliseconds; undefined if a query that lost patience
   * refreshes already
   */
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

/**
 * When a secondary requests its primary's state, in DNS's own words (RFC 1035 section 3.3.13). All in
 * milliseconds.
 *
 * The bound: what is answered without saying that it is stale was what the primary served at most `limit`
 * ago, because from then on a query waits for the newest state, for `wait` at most. So a change is answered
 * everywhere after `limit` + `wait` = 4 s + 1 s = 5 s, or the answer says that it is stale. The age of a
 * state counts from when the primary said it, however many caches it came through.
 */
export interface RefreshPolicy {
  /**
   * While the state is younger than this, the secondary requests no other. Each time a quarter more or less,
   * so that secondaries do not send requests in step.
   */
  readonly refresh: number;
  /** From this age on a query waits, and answers say that they are stale where waiting did not help. */
  readonly limit: number;
  /** The longest that a query waits for a newer state. */
  readonly wait: number;
  /** The longest that a query waits for the very first generation. */
  readonly firstWait: number;
  /** The least time between a failure and the next try. Doubles with each failure, a quarter more or less. */
  readonly retry: number;
  /** What `retry` grows to. */
  readonly longestRetry: number;
  /**
   * How long the primary may take to say its state; before the first generation `firstWait`, where that is
   * longer.
   */
  readonly stateTimeout: number;
  /** How long fetching a part may take. */
  readonly partTimeout: number;
}

export const DEFAULT_REFRESH_POLICY: RefreshPolicy = {
  refresh: 1000,
  limit: 4000,
  wait: 1000,
  firstWait: 4000,
  retry: 1000,
  longestRetry: 10_000,
  stateTimeout: 1000,
  partTimeout: 10_000,
};

/** By how much times are spread, up or down. */
const SPREAD = 0.25;

/** A time, a quarter more or less. @param random at least 0, below 1 */
export function spread(milliseconds: number, random: number): number {
  return milliseconds * (1 - SPREAD + 2 * SPREAD * random);
}
