import { DEFAULT_PUSH_LIMITS } from "../../http/push/push-limits.ts";
import { count } from "../values.ts";

const DEFAULTS = DEFAULT_PUSH_LIMITS;

/** The keys of `limits` for pushes. */
export const pushLimits = {
  /** The size of a push on the wire, compressed or not. */
  pushSentBytes: count(1024, 2 ** 30).default(DEFAULTS.pushSentBytes),
  /** The size of a push after decompression, and of one cluster's pushes that are read at the same time. */
  pushBytes: count(1024, 2 ** 30).default(DEFAULTS.pushBytes),
  /** The largest ratio of decompression. */
  pushRatio: count(10, 2000).default(DEFAULTS.pushRatio),
  pushLevels: count(12, 1000).default(DEFAULTS.pushLevels),
  /** The longest pause in a body, and the longest time for all of it. */
  pushIdleSeconds: count(1, 600).default(DEFAULTS.pushIdleSeconds),
  pushSeconds: count(1, 3600).default(DEFAULTS.pushSeconds),
  /** Members and elements of a push. */
  pushValues: count(1000, 100_000_000).default(DEFAULTS.pushValues),
  /** The rate of members and elements in one cluster's pushes. */
  pushValuesPerSecond: count(1, 100_000_000).default(DEFAULTS.pushValuesPerSecond),
  /** The size of all clusters' bodies that are read at the same time. */
  pushBytesInFlight: count(1024, 2 ** 32).default(DEFAULTS.pushBytesInFlight),
  /** The first bytes of each body, which do not count as `pushBytesInFlight`. */
  pushSmallBytes: count(0, 2 ** 24).default(DEFAULTS.pushSmallBytes),
  /** Snapshots and deltas of one cluster at the same time. */
  pushesInFlight: count(1, 1000).default(DEFAULTS.pushesInFlight),
  /** The rate and the burst of one cluster's requests, including renewals. */
  pushesPerSecond: count(1, 100_000).default(DEFAULTS.pushesPerSecond),
  pushBurst: count(1, 1_000_000).default(DEFAULTS.pushBurst),
};
