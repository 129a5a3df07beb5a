import { type ClientLocation, LOCATION_FACTS, type LocationFact } from "../../access/client.ts";
import type { LeaseWatch } from "../../gateway/leases.ts";

/** The client's location from the `cf` object of a Worker's request; undefined without that object. */
export function locationOf(cf: unknown): ClientLocation | undefined {
  if (typeof cf !== "object" || cf === null) return undefined;
  const location: { [Fact in LocationFact]?: string } = {};
  for (const fact of LOCATION_FACTS) {
    const value: unknown = (cf as Record<string, unknown>)[fact];
    if (typeof value === "string") location[fact] = value;
  }
  return location;
}

/** The part of a Durable Object's storage that alarms need. */
interface AlarmStorage {
  /** @param at Unix milliseconds */
  setAlarm(at: number): Promise<void>;
}

/**
 * Wakes the object when the next lease expires, even if the object was evicted; a timer would be lost with
 * the object, and would keep it in memory. Setting an alarm is billed as a written row, so an alarm that is
 * too early stays, and is set anew when it goes off.
 */
export class LeaseAlarm implements LeaseWatch {
  readonly #storage: AlarmStorage;
  readonly #onError: (error: unknown) => void;
  readonly #clock: () => number;
  #at: number | undefined;
  /** Removes expired clusters and calls `watch` again; may be called too early. */
  onDue: () => void = () => {};

  /**
   * @param at the time of an alarm that is already set, in Unix milliseconds
   * @param clock Unix milliseconds
   */
  constructor(
    storage: AlarmStorage,
    at: number | null,
    onError: (error: unknown) => void,
    clock: () => number = Date.now,
  ) {
    this.#storage = storage;
    // An alarm whose time has passed may never go off.
    this.#at = at !== null && at > clock() ? at : undefined;
    this.#onError = onError;
    this.#clock = clock;
  }

  watch(at: number): void {
    if (at === Number.POSITIVE_INFINITY || at === this.#at) return;
    if (this.#at !== undefined && this.#at <= at && this.#at > this.#clock()) return;
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
