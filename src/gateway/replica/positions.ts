import { StoreError } from "../../store/store-error.ts";
import type { Clock } from "../clock.ts";

/** How long a change that was added waits until it is applied, in milliseconds. */
const MOST_WAIT = 10_000;

/** An entry that this gateway added. */
export interface AddedEntry {
  readonly position: number;
  readonly id: string;
  /** `Positions.resets` before it was added. */
  readonly resets: number;
}

/** How far a log was applied, and who waits for it. */
export class Positions {
  readonly #clock: Pick<Clock, "setTimer">;
  readonly #waiting = new Set<{ readonly isReached: () => boolean; readonly resolve: () => void }>();
  #position: number;
  #resets = 0;

  constructor(clock: Pick<Clock, "setTimer">, position: number) {
    this.#clock = clock;
    this.#position = position;
  }

  /** The newest entry that was applied. */
  get position(): number {
    return this.#position;
  }

  /** How often the log went on from another position. */
  get resets(): number {
    return this.#resets;
  }

  reach(position: number): void {
    this.#position = position;
    for (const one of this.#waiting) if (one.isReached()) one.resolve();
  }

  /** The log goes on from another position: who waits may wait for an entry that is lost. */
  reset(position: number): void {
    this.#position = position;
    this.#resets++;
    for (const one of this.#waiting) one.resolve();
  }

  /**
   * Resolves when something holds after an entry was applied, or the log goes on from another position.
   * @throws {StoreError} STORE_FAILED if that takes too long
   */
  async until(isReached: () => boolean): Promise<void> {
    if (isReached()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { isReached, resolve };
    this.#waiting.add(waiting);
    const late = "the change was added to the shared log, which cannot be read now";
    const cancel = this.#clock.setTimer(MOST_WAIT, () => reject(new StoreError("STORE_FAILED", late)));
    try {
      await promise;
    } finally {
      cancel();
      this.#waiting.delete(waiting);
    }
  }

  /** Resolves when the next entry was applied, or after a time. */
  async pause(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = { isReached: () => true, resolve };
    this.#waiting.add(waiting);
    const cancel = this.#clock.setTimer(milliseconds, resolve);
    await promise;
    cancel();
    this.#waiting.delete(waiting);
  }

  close(): void {
    for (const one of this.#waiting) one.resolve();
  }
}
