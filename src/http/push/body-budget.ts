import { ApiError } from "../messages/api-error.ts";
import type { PushLimits } from "./push-limits.ts";

/** Counts the bytes of one body while the gateway holds them. A body that is rejected gives its room back before it is let go. */
export interface BodyAccount {
  /**
   * Counts further bytes.
   * @throws {ApiError} 429 where this cluster's bodies, 503 where all bodies together are too much
   */
  charge(bytes: number): void;
  /**
   * Counts further members and elements that were read of it.
   * @throws {ApiError} 503 where those of all bodies together are too many
   */
  hold(values: number): void;
  /** Gives back what was counted. */
  release(): void;
}

/** All bodies that are read at the same time have at most the members and elements of so many that are as large as they may be. */
const LARGEST_BODIES = 4;

type BudgetLimits = Pick<PushLimits, "pushBytes" | "pushBytesInFlight" | "pushSmallBytes" | "pushValues">;

/** The bytes of bodies that are read at the same time: of one cluster, and of all together. */
export class BodyBudget {
  readonly #limits: BudgetLimits;
  readonly #ofClusters = new Map<string, number>();
  #bytes = 0;
  #values = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  /**
   * An account for one body of a cluster. Its first `pushSmallBytes` bytes count for the cluster alone, so that bodies of other clusters
   * never keep out a small one; `pushesInFlight` bounds how many there are.
   */
  open(clusterId: string): BodyAccount {
    const { pushBytes, pushBytesInFlight, pushSmallBytes, pushValues } = this.#limits;
    let bytes = 0;
    let values = 0;
    const shared = () => Math.max(0, bytes - pushSmallBytes);
    const add = (more: number) => {
      const before = shared();
      bytes += more;
      this.#bytes += shared() - before;
      const ofCluster = (this.#ofClusters.get(clusterId) ?? 0) + more;
      if (ofCluster === 0) this.#ofClusters.delete(clusterId);
      else this.#ofClusters.set(clusterId, ofCluster);
    };
    const release = () => {
      add(-bytes);
      this.#values -= values;
      values = 0;
    };
    // Bodies beside this one may arrive before its reader has ended: they must not be rejected for its bytes.
    const rejected = (limit: Parameters<typeof noRoom>[0]): ApiError => {
      release();
      return noRoom(limit);
    };
    return {
      charge: (more) => {
        add(more);
        if (shared() > 0 && this.#bytes > pushBytesInFlight) throw rejected("limits.pushBytesInFlight");
        if (this.#ofClusters.get(clusterId)! > pushBytes) throw rejected("limits.pushBytes");
      },
      hold: (more) => {
        values += more;
        this.#values += more;
        if (bytes > pushSmallBytes && this.#values > LARGEST_BODIES * pushValues)
          throw rejected("limits.pushBytesInFlight");
      },
      release,
    };
  }
}

function noRoom(limit: "limits.pushBytesInFlight" | "limits.pushBytes"): ApiError {
  if (limit === "limits.pushBytes")
    return new ApiError(
      429,
      "TOO_MANY_PUSHES",
      "the pushes of this cluster that are in progress are too large together",
      { headers: { "retry-after": "1" }, limit },
    );
  return new ApiError(503, "BUSY", "too many pushes are being read: try again later", {
    headers: { "retry-after": "5" },
    limit,
  });
}
