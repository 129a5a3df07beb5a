import type { LeaseWatch } from "../../gateway/leases/lease-timer.ts";

/** The part of a Durable Object's storage that alarms need. */
export interface AlarmStorage {
  /** @param at Unix milliseconds */
  setAlarm(at: number): Promise<void>;
}

/**
 * Has the object woken when the next lease runs out, evicted or not: a timer would be lost with the object, and keeps
 * it in memory. Setting the alarm is billed as a row written, so it is left alone where it goes off too early: then it is set anew.
 */
export class LeaseAlarm implements LeaseWatch {
  readonly #storage: AlarmStorage;
  readonly #onError: (error: unknown) => void;
  #at: number | undefined;
  /** Drops what is over and calls `watch` again; may be called too early. */
  onDue: () => void = () => {};

  /** @param at when the alarm goes off that is set already, in Unix milliseconds */
  constructor(storage: AlarmStorage, at: number | null, onError: (error: unknown) => void) {
    this.#storage = storage;
    this.#at = at ?? undefined;
    this.#onError = onError;
  }

  watch(at: number): void {
    if (at === Number.POSITIVE_INFINITY || (this.#at !== undefined && this.#at <= at)) return;
    this.#at = at;
    this.#storage.setAlarm(at).catch((error) => {
      if (this.#at === at) this.#at = undefined;
      this.#onError(error);
    });
  }

  /** The alarm went off. */
  ring(): void {
    this.#at = undefined;
    this.onDue();
  }

  stop(): void {}
}
