import { TokenBuckets } from "../../limits/token-buckets.ts";
import { ApiError } from "../api-error.ts";

/** Bounds on the requests of the push API. */
export interface PushLimits {
  /** Octets of a body as it is sent, compressed or not. */
  readonly pushSentBytes: number;
  /** Octets of a body after decompression. */
  readonly pushBytes: number;
  /** How many octets one sent octet may become; looked at from 1 MiB on. */
  readonly pushRatio: number;
  /** How deeply JSON may be nested. */
  readonly pushLevels: number;
  /** Members and elements of a body: what reading it costs, and the memory that it takes, go by them. */
  readonly pushValues: number;
  /** How many of them one cluster may send in the long run; at once it may send two bodies of the greatest size. */
  readonly pushValuesPerSecond: number;
  /** Octets of all bodies together that are read at the same time. */
  readonly pushBytesInFlight: number;
  /** Snapshots and deltas of one cluster at the same time. */
  readonly pushesInFlight: number;
  /** Requests of one cluster in the long run, renewals included, and at once. */
  readonly pushesPerSecond: number;
  readonly pushBurst: number;
}

/** What holds where nothing else is configured. */
export const DEFAULT_PUSH_LIMITS: PushLimits = {
  pushSentBytes: 16 * 1024 * 1024,
  pushBytes: 64 * 1024 * 1024,
  pushRatio: 200,
  pushLevels: 32,
  pushValues: 2_000_000,
  pushValuesPerSecond: 50_000,
  pushBytesInFlight: 256 * 1024 * 1024,
  pushesInFlight: 2,
  pushesPerSecond: 50,
  pushBurst: 500,
};

/** Clusters that are remembered; only those with a credential come so far. */
const MOST_CLUSTERS = 20_000;

/** Counts what is being read, so that many pushes at once cannot take all of the memory, nor one cluster all of the time. */
export class PushAdmission {
  readonly #limits: PushLimits;
  readonly #pushes = new Map<string, number>();
  readonly #requests: TokenBuckets;
  readonly #values: TokenBuckets;
  #bytes = 0;

  /** @param now milliseconds that never go back */
  constructor(limits: PushLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    const { pushesPerSecond, pushBurst, pushValues, pushValuesPerSecond } = limits;
    this.#requests = new TokenBuckets({ perSecond: pushesPerSecond, burst: pushBurst }, MOST_CLUSTERS, now);
    this.#values = new TokenBuckets(
      { perSecond: pushValuesPerSecond, burst: 2 * pushValues },
      MOST_CLUSTERS,
      now,
    );
  }

  /**
   * Counts a request of a cluster.
   * @throws {ApiError} 429
   */
  admit(clusterId: string): void {
    const seconds = this.#requests.take(this.#requests.of(clusterId));
    if (seconds > 0)
      throw new ApiError(429, "TOO_MANY_REQUESTS", "this cluster sends too many requests", {
        headers: { "retry-after": String(seconds) },
        limit: "limits.pushesPerSecond",
      });
  }

  /**
   * Counts the members and elements of a body before it is parsed.
   * @throws {ApiError} 429
   */
  work(clusterId: string, values: number): void {
    const seconds = this.#values.take(this.#values.of(clusterId), values);
    if (seconds > 0)
      throw new ApiError(
        429,
        "TOO_MUCH_WORK",
        `this cluster sends more than ${this.#limits.pushValuesPerSecond} members and elements a second: send deltas`,
        { headers: { "retry-after": String(seconds) }, limit: "limits.pushValuesPerSecond" },
      );
  }

  /**
   * Runs a push of a cluster, unless too many of it run.
   * @throws {ApiError} 429
   */
  async run<Result>(clusterId: string, push: () => Promise<Result>): Promise<Result> {
    const running = this.#pushes.get(clusterId) ?? 0;
    if (running >= this.#limits.pushesInFlight)
      throw new ApiError(
        429,
        "TOO_MANY_PUSHES",
        `${running} pushes of this cluster are in progress already`,
        { headers: { "retry-after": "1" }, limit: "limits.pushesInFlight" },
      );
    this.#pushes.set(clusterId, running + 1);
    try {
      return await push();
    } finally {
      const left = this.#pushes.get(clusterId)! - 1;
      if (left === 0) this.#pushes.delete(clusterId);
      else this.#pushes.set(clusterId, left);
    }
  }

  /**
   * Counts octets until `release`.
   * @throws {ApiError} 503 when all bodies together are too much.
   */
  charge(bytes: number): void {
    if (this.#bytes + bytes > this.#limits.pushBytesInFlight)
      throw new ApiError(503, "BUSY", "too many pushes are being read: try again later", {
        headers: { "retry-after": "5" },
        limit: "limits.pushBytesInFlight",
      });
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
