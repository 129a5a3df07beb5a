import type { ClientBuckets, Rate, RateName } from "./client-rate.ts";
import { type ClientCountMemory, SharedClientCounts, SharedClientTable } from "./client-table.ts";

/** The servers that count the connections of each client. */
type ConnectionKind = "https" | "dns" | "dot";

/**
 * The memory of all limits that count for a process as a whole. It is structured-clonable: each thread gets
 * it with its `workerData`.
 */
export interface SharedLimitMemory {
  readonly counts: SharedArrayBuffer;
  readonly rates: Readonly<Record<RateName, BucketMemory>>;
  readonly clients: Readonly<Record<ConnectionKind, ClientCountMemory>>;
}

/** The sizes of the memory. */
interface SharedLimitSizes {
  /** The most threads at the same time. */
  readonly threads: number;
  /** The most connections of each kind. */
  readonly connections: Readonly<Record<ConnectionKind, number>>;
}

/** The clients with a bucket of their own at the same time, for each rate: 1.5 MiB. */
const CLIENTS = 131_072;

/**
 * The limits of a process, from one of its threads. The thread that starts the others allocates the memory,
 * and each thread makes its own `SharedLimits` with its number. When a thread has ended, another one clears
 * its number before a new thread gets it.
 *
 * Not here, since one thread alone has them: limits on pushes, and limits within one connection. The delay of
 * the event loop is that of each thread.
 */
export class SharedLimits {
  readonly #memory: SharedLimitMemory;
  readonly #thread: number;
  readonly #counts: SharedCounts;
  readonly #now: () => number;

  static allocate({ threads, connections }: SharedLimitSizes): SharedLimitMemory {
    // Half of the slots stay free, so that sets are hardly ever full.
    const clients = (kind: ConnectionKind) => SharedClientCounts.allocate(2 * connections[kind], threads);
    const buckets = () => SharedBuckets.allocate(CLIENTS);
    return {
      counts: SharedCounts.allocate(threads),
      rates: {
        requests: buckets(),
        connections: buckets(),
        datagrams: buckets(),
        forwarded: buckets(),
      },
      clients: { https: clients("https"), dns: clients("dns"), dot: clients("dot") },
    };
  }

  /**
   * @param thread the number of this thread, from 0
   * @param now monotonic milliseconds by a clock that all threads have in common
   */
  constructor(memory: SharedLimitMemory, thread: number, now: () => number) {
    this.#memory = memory;
    this.#thread = thread;
    this.#counts = new SharedCounts(memory.counts, thread);
    this.#now = now;
  }

  /** The buckets of one rate. */
  buckets(name: RateName, rate: Rate): ClientBuckets {
    return new SharedBuckets(this.#memory.rates[name], rate, this.#now);
  }

  /** The number of what is open or in progress. */
  count(counted: Counted): Count {
    return this.#counts.of(counted);
  }

  /** The number of what is open or in progress, by the number of the thread. */
  byThread(counted: Counted): number[] {
    return this.#counts.byThread(counted);
  }

  /** The open connections of each client. */
  clients(kind: ConnectionKind): SharedClientCounts {
    return new SharedClientCounts(this.#memory.clients[kind], this.#thread);
  }

  /** Removes what a thread counted that has ended: its connections and requests ended with it. */
  clear(thread: number): void {
    this.#counts.clear(thread);
    for (const kind of ["https", "dns", "dot"] as const)
      new SharedClientCounts(this.#memory.clients[kind], thread).clear(thread);
  }
}

/** What a process counts and bounds as a whole. */
const COUNTED = [
  "requests",
  "connections",
  "connections.leaving",
  "dns.connections",
  "dot.connections",
  "forwarded",
  "stub",
  "overloaded",
] as const;

export type Counted = (typeof COUNTED)[number];

/** The number of things that are open or in progress, in all threads of a process. */
export interface Count {
  readonly total: number;
  /** Counts one more if there are fewer than `most`; false if not. */
  begin(most: number): boolean;
  /** Counts one less. */
  end(): void;
}

/** Each thread has a cache line of its own. */
const ROW = 16;

/**
 * Counts in shared memory. Each thread has a row, in which it alone counts, and the total is the sum of all
 * rows: so the counts of a thread that ended are removed at once, whatever it was doing.
 *
 * Since each cell has one writer, none of this is an atomic operation: with one thread a request costs 15 ns
 * instead of 41, with four 16 instead of 83. In return threads that take the last place in the same
 * nanoseconds may all get it.
 */
export class SharedCounts {
  readonly #cells: Int32Array;
  readonly #row: number;

  /** Memory for so many threads. */
  static allocate(threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer(threads * ROW * 4);
  }

  /** @param thread the number of the thread that counts, from 0 */
  constructor(memory: SharedArrayBuffer, thread: number) {
    this.#cells = new Int32Array(memory);
    this.#row = thread * ROW;
  }

  /** The count of one kind, as this thread changes it. */
  of(counted: Counted): Count {
    return new SharedCount(this.#cells, this.#row, COUNTED.indexOf(counted));
  }

  /** The counts of one kind by the number of the thread. */
  byThread(counted: Counted): number[] {
    const column = COUNTED.indexOf(counted);
    return Array.from(
      { length: this.#cells.length / ROW },
      (_, thread) => this.#cells[thread * ROW + column]!,
    );
  }

  /** Removes the counts of a thread that ended. */
  clear(thread: number): void {
    this.#cells.fill(0, thread * ROW, (thread + 1) * ROW);
  }
}

class SharedCount implements Count {
  readonly #cells: Int32Array;
  readonly #column: number;
  readonly #own: number;

  constructor(cells: Int32Array, row: number, column: number) {
    this.#cells = cells;
    this.#column = column;
    this.#own = row + column;
  }

  get total(): number {
    const cells = this.#cells;
    let sum = 0;
    for (let cell = this.#column; cell < cells.length; cell += ROW) sum += cells[cell]!;
    return sum;
  }

  begin(most: number): boolean {
    if (this.total >= most) return false;
    this.#cells[this.#own] = this.#cells[this.#own]! + 1;
    return true;
  }

  end(): void {
    this.#cells[this.#own] = this.#cells[this.#own]! - 1;
  }
}

/** A count of one thread alone. */
export function ownCount(counted: Counted): Count {
  return new SharedCounts(SharedCounts.allocate(1), 0).of(counted);
}

/** The memory of one rate. It is structured-clonable: a thread gets it with its `workerData`. */
interface BucketMemory {
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
 * The state of a bucket is the time when it is full again (the "theoretical arrival time" of the generic cell
 * rate algorithm, ITU-T I.371), as one word of 32 bits, which a thread changes by compare-and-exchange: so
 * threads never give a token twice. A bucket that is full again is forgotten without loss, and only such a
 * slot goes to another client. While all slots of a set are in use, a further client takes from the fullest
 * bucket among them: the clients of a full table have the tokens of the whole table.
 *
 * Times are modulo 2^32 ticks of a 16th of a token: 2^28 tokens' time, 50 hours at 1500 tokens a second. The
 * bucket of a client that comes back after exactly a multiple of that may have fewer tokens than it should
 * for as long as a burst takes to be filled in.
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
