import { StoreError } from "../../store/store-error.ts";
import type { Clock } from "../clock.ts";

/** How long a change that was added waits until it is applied, in milliseconds. */
const MOST_WAIT = 10_000;

/** How far a log was applied, and who waits for it. */
export class Positions {
  readonly #clock: Pick<Clock, "setTimer">;
  readonly #waiting = new Set<{ readonly position: number; readonly resolve: () => void }>();
  #position: number;

  constructor(clock: Pick<Clock, "setTimer">, position: number) {
    this.#clock = clock;
    this.#position = position;
  }

  /** The newest entry that was applied. */
  get position(): number {
    return this.#position;
  }

  reach(position: number): void {
    this.#position = position;
    for (const one of this.#waiting) if (one.position <= position) one.resolve();
  }

  /** The log goes on from another position: who waits may wait for an entry that is lost. */
  reset(position: number): void {
    this.#position = position;
    for (const one of this.#waiting) one.resolve();
  }

  /** Resolves when an entry was applied. @throws {StoreError} STORE_FAILED if that takes too long: the change counts as soon as the log can be read */
  async reached(position: number): Promise<void> {
    if (this.#position >= position) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { position, resolve };
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
    const waiting = { position: this.#position + 1, resolve };
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
