import { TokenBuckets } from "../../limits/client-rate.ts";
import { ApiError } from "../messages/api-error.ts";
import { type BodyAccount, BodyBudget } from "./bodies.ts";
import type { PushLimits } from "./push-limits.ts";

/** Clusters that are remembered; only those with a credential come so far. */
const MOST_CLUSTERS = 20_000;

/** Bounds the requests of each cluster, and what is read at the same time: no cluster takes the memory or the time of the others. */
export class PushAdmission {
  readonly #limits: PushLimits;
  readonly #bodies: BodyBudget;
  readonly #pushes = new Map<string, number>();
  readonly #requests: TokenBuckets;
  readonly #values: TokenBuckets;

  /** @param now milliseconds that never go back */
  constructor(limits: PushLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#bodies = new BodyBudget(limits);
    const { pushesPerSecond, pushBurst, pushValues, pushValuesPerSecond } = limits;
    this.#requests = new TokenBuckets({ perSecond: pushesPerSecond, burst: pushBurst }, MOST_CLUSTERS, now);
    this.#values = new TokenBuckets(
      { perSecond: pushValuesPerSecond, burst: pushValues },
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
   * Lets a cluster begin a body as long as those before it are paid for. A body is admitted on credit: how much it has is known at its end.
   * @throws {ApiError} 429
   */
  begin(clusterId: string): void {
    const seconds = this.#values.take(this.#values.of(clusterId));
    if (seconds > 0)
      throw new ApiError(
        429,
        "TOO_MUCH_WORK",
        `this cluster sends more than ${this.#limits.pushValuesPerSecond} members and elements a second: send deltas`,
        { headers: { "retry-after": String(seconds) }, limit: "limits.pushValuesPerSecond" },
      );
  }

  /** Counts members and elements of a body that began. */
  work(clusterId: string, values: number): void {
    this.#values.owe(this.#values.of(clusterId), values);
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

  /** An account for the bytes of a body. */
  open(clusterId: string): BodyAccount {
    return this.#bodies.open(clusterId);
  }
}
