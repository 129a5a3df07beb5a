import { BaseChanged, type SharedLog } from "../../store/shared/shared-log.ts";
import { isDiskFailure } from "../../store/store-error.ts";
import type { Clock } from "../clock.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { KnownClusters } from "./known-clusters.ts";

/** Milliseconds until a leave is added again that could not be added. */
const RETRY = 1000;

interface RepeatedLeavesParts {
  readonly log: SharedLog;
  readonly known: KnownClusters;
  readonly clock: Clock;
  readonly onEvent: OnGatewayEvent;
  /** The generation that is held of a cluster; 0 for none. */
  readonly generationOf: (clusterId: string) => number;
}

/**
 * Adds leaves to a log that an engine lost. The worker of a cluster that left pushes nothing any more, and a gateway that was away at that time would answer from the cluster
 * until its lease ends. Each gateway that knows of a leave adds it; the first one counts.
 */
export class RepeatedLeaves {
  readonly #parts: RepeatedLeavesParts;
  /** The newest generation that left, by cluster id. */
  #owed = new Map<string, number>();
  #cancelRetry: (() => void) | undefined;
  #closed = false;

  constructor(parts: RepeatedLeavesParts) {
    this.#parts = parts;
  }

  /** Adds those of these leaves that the log does not have. @param departed the newest generation that left, by cluster id */
  repeat(departed: ReadonlyMap<string, number>): void {
    for (const [clusterId, generation] of departed)
      this.#owed.set(clusterId, Math.max(generation, this.#owed.get(clusterId) ?? 0));
    void this.#add();
  }

  close(): void {
    this.#closed = true;
    this.#cancelRetry?.();
  }

  async #add(): Promise<void> {
    const { log, known, onEvent, generationOf } = this.#parts;
    const owed = this.#owed;
    this.#owed = new Map();
    for (const [clusterId, generation] of owed) {
      const now = known.get(clusterId);
      if (this.#closed || (now?.left ?? 0) >= generation || generationOf(clusterId) > generation) continue;
      try {
        await log.append({ clusterId, base: now?.id, change: { kind: "left", generation } });
      } catch (error) {
        if (this.#closed) return;
        if (error instanceof BaseChanged || isDiskFailure(error)) this.#owe(clusterId, generation);
        else onEvent({ event: "removal-failed", clusterId, error });
      }
    }
  }

  #owe(clusterId: string, generation: number): void {
    if (!this.#owed.has(clusterId)) this.#owed.set(clusterId, generation);
    this.#cancelRetry ??= this.#parts.clock.setTimer(RETRY, () => {
      this.#cancelRetry = undefined;
      void this.#add();
    });
  }
}
