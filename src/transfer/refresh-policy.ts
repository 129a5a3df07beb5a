/**
 * When a secondary requests its primary's state, in DNS's own words (RFC 1035 section 3.3.13). All in milliseconds.
 *
 * The bound: what is answered without saying that it is stale was what the primary served at most `limit` ago, because from
 * then on a query waits for the newest state, for `wait` at most. So a change is answered everywhere after `limit` + `wait` =
 * 4 s + 1 s = 5 s, or the answer says that it is stale. The age of a state counts from when the primary said it, however
 * many caches it came through.
 */
export interface RefreshPolicy {
  /** While the state is younger than this, the secondary requests no other. Each time a quarter more or less, so that secondaries do not send requests in step. */
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
  /** How long the primary may take to say its state; before the first generation `firstWait`, where that is longer. */
  readonly stateTimeout: number;
  /** How long transferring a root or a segment may take. */
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

/** The defaults with changes. @throws {RangeError} for times that do not go together */
export function refreshPolicy(changes: Partial<RefreshPolicy> = {}): RefreshPolicy {
  const policy = { ...DEFAULT_REFRESH_POLICY, ...changes };
  for (const [name, value] of Object.entries(policy))
    if (!Number.isFinite(value) || value < 0)
      throw new RangeError(`${name} must be a number of milliseconds, not ${value}`);
  if (policy.refresh * (1 + SPREAD) > policy.limit)
    throw new RangeError(
      `refresh (${policy.refresh} ms) and a quarter more must not be above limit (${policy.limit} ms)`,
    );
  return policy;
}

/** A time, a quarter more or less. @param random at least 0, below 1 */
export function spread(milliseconds: number, random: number): number {
  return milliseconds * (1 - SPREAD + 2 * SPREAD * random);
}
