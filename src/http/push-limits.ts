import { PushFault } from "./push-fault.ts";

/** Bounds on the requests of the push API. */
export interface PushLimits {
  /** Octets of a body as it is sent, compressed or not. */
  readonly sentBytes: number;
  /** Octets of a body after decompression. */
  readonly bodyBytes: number;
  /** How many octets one sent octet may become; looked at from 1 MiB on. */
  readonly compressionRatio: number;
  /** How deeply JSON may be nested. */
  readonly levels: number;
  /** Octets of all bodies together that are read at the same time. */
  readonly bytesInFlight: number;
  /** Snapshots and deltas of one cluster at the same time. */
  readonly pushesPerCluster: number;
}

/** What holds where nothing else is configured. */
export const DEFAULT_PUSH_LIMITS: PushLimits = {
  sentBytes: 16 * 1024 * 1024,
  bodyBytes: 64 * 1024 * 1024,
  compressionRatio: 200,
  levels: 32,
  bytesInFlight: 256 * 1024 * 1024,
  pushesPerCluster: 2,
};

/** Counts what is being read, so that many pushes at once cannot take all of the memory. */
export class PushAdmission {
  readonly #limits: PushLimits;
  readonly #pushes = new Map<string, number>();
  #bytes = 0;

  constructor(limits: PushLimits) {
    this.#limits = limits;
  }

  /**
   * Runs a push of a cluster, unless too many of it run.
   * @throws {PushFault} 429
   */
  async run<Result>(clusterId: string, push: () => Promise<Result>): Promise<Result> {
    const running = this.#pushes.get(clusterId) ?? 0;
    if (running >= this.#limits.pushesPerCluster)
      throw new PushFault(
        429,
        "TOO_MANY_PUSHES",
        `${running} pushes of this cluster are in progress already`,
        {
          headers: { "retry-after": "1" },
        },
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
   * @throws {PushFault} 503 when all bodies together are too much.
   */
  charge(bytes: number): void {
    if (this.#bytes + bytes > this.#limits.bytesInFlight)
      throw new PushFault(503, "BUSY", "too many pushes are being read: try again later", {
        headers: { "retry-after": "5" },
      });
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
