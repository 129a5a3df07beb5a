import type { ClientBuckets } from "../client-rate.ts";
import type { Rate } from "../token-buckets.ts";
import { SharedClientTable } from "./client-table.ts";

/** The memory of one rate. It is structured-clonable: a thread gets it with its `workerData`. */
export interface BucketMemory {
  readonly keys: SharedArrayBuffer;
  readonly states: SharedArrayBuffer;
}

/** The time for one token is this many ticks. */
const TICKS = 16;
/** The largest bucket: half of the ticks that 32 bits count is time to come. */
export const LARGEST_BURST = 2 ** 31 / TICKS - 1;
const BYTES_PER_STATE = 8;

/**
 * A token bucket for each client in shared memory: all threads of a process take from the same ones.
 *
 * The state of a bucket is the time when it is full again (the "theoretical arrival time" of the generic cell rate algorithm,
 * ITU-T I.371), as one word of 32 bits, which a thread changes by compare-and-exchange: so threads never give a token twice. A bucket that is full
 * again is forgotten without loss, and only such a slot goes to another client. While all slots of a set are in use, a further
 * client takes from the fullest bucket among them: the clients of a full table have the tokens of the whole table.
 *
 * Times are modulo 2^32 ticks of a 16th of a token: 2^28 tokens' time, 50 hours at 1500 tokens a second. The bucket of a client that
 * comes back after exactly a multiple of that may have fewer tokens than it should for as long as a burst takes to be filled in.
 */
export class SharedBuckets extends SharedClientTable implements ClientBuckets {
  /** For each slot: the time when the bucket is full, in ticks. */
  readonly #fullAt: Int32Array;
  /** For each slot: how often the bucket was empty. */
  readonly #refusals: Int32Array;
  readonly #ticksPerMillisecond: number;
  readonly #burstTicks: number;
  readonly #now: () => number;

  /** Memory for the buckets of at least so many clients at the same time. */
  static allocate(clients: number): BucketMemory {
    const keys = SharedClientTable.allocateKeys(clients);
    return { keys, states: new SharedArrayBuffer(SharedClientTable.slotsOf(keys) * BYTES_PER_STATE) };
  }

  /**
   * @param rate with a burst of at most `LARGEST_BURST`
   * @param now monotonic milliseconds by a clock that all threads have in common
   */
  constructor({ keys, states }: BucketMemory, { perSecond, burst }: Rate, now: () => number) {
    super(keys);
    const slots = SharedClientTable.slotsOf(keys);
    this.#fullAt = new Int32Array(states, 0, slots);
    this.#refusals = new Int32Array(states, slots * 4, slots);
    this.#ticksPerMillisecond = (perSecond * TICKS) / 1000;
    this.#burstTicks = burst * TICKS;
    this.#now = now;
  }

  take(client: string): number {
    const slot = this.slotOf(client);
    for (;;) {
      const now = this.#ticks();
      const fullAt = this.#fullAt[slot]!;
      const missing = this.#missing(fullAt, now);
      const lacking = missing + TICKS - this.#burstTicks;
      if (lacking > 0) {
        Atomics.add(this.#refusals, slot, 1);
        return Math.ceil(lacking / (this.#ticksPerMillisecond * 1000));
      }
      if (Atomics.compareExchange(this.#fullAt, slot, fullAt, (now + missing + TICKS) | 0) === fullAt)
        return 0;
    }
  }

  refusals(client: string): number {
    return Atomics.load(this.#refusals, this.slotOf(client));
  }

  protected override useOf(slot: number): number {
    return this.#missing(Atomics.load(this.#fullAt, slot), this.#ticks());
  }

  protected override claimed(slot: number): void {
    Atomics.store(this.#fullAt, slot, this.#ticks());
    Atomics.store(this.#refusals, slot, 0);
  }

  #ticks(): number {
    return (this.#now() * this.#ticksPerMillisecond) | 0;
  }

  /** The ticks until a bucket is full; 0 if it is. */
  #missing(fullAt: number, now: number): number {
    const missing = (fullAt - now) | 0;
    return missing < 0 || missing > this.#burstTicks ? 0 : missing;
  }
}
