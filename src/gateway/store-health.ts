import { type StoreError, storeFailure } from "../database/store-error.ts";
import { type Clock, unixTime } from "./clock.ts";
import type { OnGatewayEvent } from "./gateway-events.ts";

/** Why what clusters push cannot be stored now. */
export interface StoreTrouble {
  /** What the system said, without paths. */
  readonly reason: string;
  /** Since when, in Unix milliseconds. */
  readonly since: number;
}

/**
 * Knows whether the store can be written. A full or failing disk makes changes impossible, and must not take live clusters out of the
 * answers: what is in memory needs no disk. Healthy again as soon as every cluster whose write failed has written something, or has nothing left to write.
 */
export class StoreHealth {
  readonly #clock: Clock;
  readonly #onEvent: OnGatewayEvent;
  readonly #waits: (clusterId: string) => boolean;
  /** By the cluster whose last write failed. */
  readonly #failing = new Set<string>();
  #trouble: StoreTrouble | undefined;

  /** @param waits whether a cluster whose write failed is going to write again: it is live, or to be removed */
  constructor(clock: Clock, onEvent: OnGatewayEvent, waits: (clusterId: string) => boolean) {
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#waits = waits;
  }

  /** Undefined while everything can be stored. */
  get trouble(): StoreTrouble | undefined {
    return this.#trouble;
  }

  /**
   * Writes something for a cluster.
   * @throws {StoreError} STORE_FULL, STORE_FAILED where the disk fails; other errors as they are
   */
  async must<Result>(clusterId: string, write: () => Promise<Result>): Promise<Result> {
    try {
      const result = await write();
      this.works(clusterId);
      return result;
    } catch (error) {
      throw this.#failed(clusterId, error) ?? error;
    }
  }

  /** Notes that something of a cluster was stored. */
  works(clusterId: string): void {
    if (this.#trouble === undefined) return;
    this.#failing.delete(clusterId);
    for (const other of this.#failing) if (!this.#waits(other)) this.#failing.delete(other);
    if (this.#failing.size > 0) return;
    this.#trouble = undefined;
    this.#onEvent({ event: "store-works-again" });
  }

  #failed(clusterId: string, error: unknown): StoreError | undefined {
    const failure = storeFailure(error);
    if (failure === undefined) return undefined;
    this.#failing.add(clusterId);
    if (this.#trouble === undefined) {
      this.#trouble = { reason: failure.message, since: unixTime(this.#clock, this.#clock.now()) };
      this.#onEvent({ event: "store-failed", clusterId, error });
    }
    return failure;
  }
}
