import * as z from "zod";
import { DEFAULT_PUSH_LIMITS } from "../../http/push/push-limits.ts";

const count = (least: number, most: number) => z.int().min(least).max(most);
const DEFAULTS = DEFAULT_PUSH_LIMITS;

/** The keys of `limits` that are about pushes. */
export const pushLimits = {
  /** A push as it is sent, compressed or not. */
  pushSentBytes: count(1024, 2 ** 30).default(DEFAULTS.pushSentBytes),
  /** A push after decompression; and all of one cluster that are read at the same time. */
  pushBytes: count(1024, 2 ** 30).default(DEFAULTS.pushBytes),
  /** How many bytes one sent byte may become. */
  pushRatio: count(10, 2000).default(DEFAULTS.pushRatio),
  pushLevels: count(12, 1000).default(DEFAULTS.pushLevels),
  /** How long no byte of a body may arrive, and how long all of it may take. */
  pushIdleSeconds: count(1, 600).default(DEFAULTS.pushIdleSeconds),
  pushSeconds: count(1, 3600).default(DEFAULTS.pushSeconds),
  /** Members and elements of a push. */
  pushValues: count(1000, 100_000_000).default(DEFAULTS.pushValues),
  /** Members and elements of one cluster's pushes in the long run. */
  pushValuesPerSecond: count(1, 100_000_000).default(DEFAULTS.pushValuesPerSecond),
  /** Bodies of all clusters that are read at the same time. */
  pushBytesInFlight: count(1024, 2 ** 32).default(DEFAULTS.pushBytesInFlight),
  /** The first bytes of each body, which do not count as `pushBytesInFlight`. */
  pushSmallBytes: count(0, 2 ** 24).default(DEFAULTS.pushSmallBytes),
  /** Snapshots and deltas of one cluster at the same time. */
  pushesInFlight: count(1, 1000).default(DEFAULTS.pushesInFlight),
  /** Requests of one cluster in the long run, renewals included, and at once. */
  pushesPerSecond: count(1, 100_000).default(DEFAULTS.pushesPerSecond),
  pushBurst: count(1, 1_000_000).default(DEFAULTS.pushBurst),
};
