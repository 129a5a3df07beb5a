import type { StoreError } from "../../store/store-error.ts";
import type { Clock } from "../clock.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { KeyedQueue } from "./keyed-queue.ts";
import type { StoreHealth } from "./store-health.ts";

/** Milliseconds until a removal that failed is tried again. */
const RETRY = 10_000;

/** What clusters are removed with. */
export interface RemovalParts {
  readonly health: StoreHealth;
  readonly clock: Clock;
  readonly onEvent: OnGatewayEvent;
  /** What a push of a cluster and its removal take turns in. */
  readonly queue: KeyedQueue;
  readonly isLive: (clusterId: string) => boolean;
  /** Removes what is stored of a cluster. */
  readonly remove: (clusterId: string) => Promise<void>;
}

/** Removes clusters that have gone from the store. One that the disk keeps is tried again until it is gone, or has pushed again. */
export class Removals {
  readonly #parts: RemovalParts;
  readonly #owed = new Set<string>();
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(parts: RemovalParts) {
    this.#parts = parts;
  }

  /**
   * Removes a cluster, in its turn.
   * @returns what the disk failed with; undefined where the cluster is gone from the store
   * @throws {Error} what is no failure of the disk
   */
  async remove(clusterId: string): Promise<StoreError | undefined> {
    const { health, remove, onEvent } = this.#parts;
    const failure = await health.attempt(clusterId, () => remove(clusterId));
    if (failure === undefined) this.#owed.delete(clusterId);
    else {
      if (!this.#owed.has(clusterId)) onEvent({ event: "removal-failed", clusterId, error: failure });
      this.#owed.add(clusterId);
      this.#retryLater();
    }
    return failure;
  }

  /** Whether a removal is going to be tried again. */
  owes(clusterId: string): boolean {
    return this.#owed.has(clusterId);
  }

  /** Gives up. What is not removed by now is dropped at the next start, when its lease has expired. */
  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #retryLater(): void {
    if (this.#closed) return;
    this.#cancel ??= this.#parts.clock.setTimer(RETRY, () => {
      this.#cancel = undefined;
      for (const clusterId of this.#owed) this.#retry(clusterId);
    });
  }

  #retry(clusterId: string): void {
    const { queue, isLive, onEvent } = this.#parts;
    queue
      .run(clusterId, async () => {
        // What it pushed since has replaced what was to be removed.
        if (isLive(clusterId)) this.#owed.delete(clusterId);
        else await this.remove(clusterId);
      })
      .catch((error) => onEvent({ event: "removal-failed", clusterId, error }));
  }
}
