import type { ClientBuckets, Rate, RateName } from "./client-rate.ts";
import { type Count, type Counted, SharedCounts } from "./counters.ts";

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

/** A client has its slot among this many, which its hash selects. */
const WAYS = 8;
/**
 * Before the keys: two seeds of the hash. Clients do not know them, so they cannot choose addresses that
 * share a set.
 */
const SEEDS = 2;
const HEADER_BYTES = 64;
const BYTES_PER_KEY = 4;

/**
 * A hash table of a fixed number of slots in shared memory, one slot for each client, for all threads of a
 * process. Finding a slot takes no lock.
 *
 * A set of slots that is full neither admits nor blocks its further clients: they share the slot with the
 * least use, as long as no slot of the set is unused. Two clients with the same 32-bit key in the same set
 * share a slot, too.
 */
abstract class SharedClientTable {
  readonly #keys: Int32Array;
  readonly #seeds: Int32Array;
  /** The number of sets is a power of 2. */
  readonly #setMask: number;
  /** The key that the last hash left. */
  #key = 0;

  /** Memory for the keys of at least so many slots, which all threads get. */
  static allocateKeys(slots: number): SharedArrayBuffer {
    const sets = 2 ** Math.ceil(Math.log2(Math.max(1, slots / WAYS)));
    const memory = new SharedArrayBuffer(HEADER_BYTES + sets * WAYS * BYTES_PER_KEY);
    // Random values cannot be written into shared memory.
    new Int32Array(memory, 0, SEEDS).set(crypto.getRandomValues(new Int32Array(SEEDS)));
    return memory;
  }

  /** The number of slots for which there are keys. */
  static slotsOf(keys: SharedArrayBuffer): number {
    return (keys.byteLength - HEADER_BYTES) / BYTES_PER_KEY;
  }

  constructor(keys: SharedArrayBuffer) {
    this.#seeds = new Int32Array(keys, 0, SEEDS);
    this.#keys = new Int32Array(keys, HEADER_BYTES);
    this.#setMask = this.#keys.length / WAYS - 1;
  }

  /** How much a slot is used; 0 if it may become that of another client. */
  protected abstract useOf(slot: number): number;

  /** Called when a slot was given to a client that had none. */
  protected abstract claimed(slot: number): void;

  /** The slot of a client; undisturbed until its use is 0. */
  protected slotOf(client: string): number {
    const first = this.#hash(client) * WAYS;
    const key = this.#key;
    // Plain reads, which take 1 ns each instead of 9: the set is searched again before a slot changes.
    for (let slot = first; slot < first + WAYS; slot++) if (this.#keys[slot] === key) return slot;
    return this.#claim(first, key);
  }

  #claim(first: number, key: number): number {
    for (;;) {
      let [least, leastUse, leastKey] = [first, Number.POSITIVE_INFINITY, 0];
      for (let slot = first; slot < first + WAYS; slot++) {
        const other = Atomics.load(this.#keys, slot);
        // Another thread was faster.
        if (other === key) return slot;
        // An unused slot comes first, so that the last client of another slot keeps its count of refusals.
        const use = other === 0 ? -1 : this.useOf(slot);
        if (use < leastUse) [least, leastUse, leastKey] = [slot, use, other];
      }
      if (leastUse > 0) return least;
      if (Atomics.compareExchange(this.#keys, least, leastKey, key) !== leastKey) continue;
      this.claimed(least);
      return least;
    }
  }

  /** Sets the key of a client. @returns its set */
  #hash(client: string): number {
    let set = this.#seeds[0]!;
    let key = this.#seeds[1]!;
    for (let index = 0; index < client.length; index++) {
      const code = client.charCodeAt(index);
      set = Math.imul(set ^ code, 0x9e3779b1);
      set ^= set >>> 15;
      key = Math.imul(key ^ code, 0x85ebca6b);
      key ^= key >>> 13;
    }
    set = Math.imul(set ^ (set >>> 16), 0x85ebca6b);
    key = Math.imul(key ^ (key >>> 16), 0xc2b2ae35);
    key ^= key >>> 16;
    // 0 is the key of a slot that was never used.
    this.#key = key === 0 ? 1 : key;
    return (set ^ (set >>> 13)) & this.#setMask;
  }
}

/**
 * The memory of one kind of connections. It is structured-clonable: a thread gets it with its `workerData`.
 */
export interface ClientCountMemory {
  readonly keys: SharedArrayBuffer;
  readonly counts: SharedArrayBuffer;
  readonly requests: SharedArrayBuffer;
}

/** The slot in which a connection is counted. */
export type ClientSlot = number;

/**
 * The number of open connections of each client, and of requests over them, in all threads of a process. Each
 * thread has a row, as in `SharedCounts`.
 *
 * A slot without connections goes to the next client. While all slots of a set have connections, a further
 * client is counted with the client that has the fewest: both have one limit together, and neither is kept
 * out. The same happens to two clients that get a slot from two threads in the same nanoseconds.
 */
export class SharedClientCounts extends SharedClientTable {
  readonly #counts: Int32Array;
  readonly #requests: Int32Array;
  readonly #slots: number;
  readonly #row: number;

  /** Memory for at least so many clients at the same time, and so many threads. */
  static allocate(clients: number, threads: number): ClientCountMemory {
    const keys = SharedClientTable.allocateKeys(clients);
    const rows = () => new SharedArrayBuffer(SharedClientTable.slotsOf(keys) * threads * 4);
    return { keys, counts: rows(), requests: rows() };
  }

  /** @param thread the number of the thread that counts, from 0 */
  constructor({ keys, counts, requests }: ClientCountMemory, thread: number) {
    super(keys);
    this.#counts = new Int32Array(counts);
    this.#requests = new Int32Array(requests);
    this.#slots = SharedClientTable.slotsOf(keys);
    this.#row = thread * this.#slots;
  }

  /** Counts a connection of a client. @returns where; `end` takes it back */
  begin(client: string): ClientSlot {
    const slot = this.slotOf(client);
    this.#add(this.#counts, slot, 1);
    return slot;
  }

  /** Counts a connection no more. */
  end(slot: ClientSlot): void {
    this.#add(this.#counts, slot, -1);
  }

  /** The connections that are counted in a slot. */
  totalOf(slot: ClientSlot): number {
    return this.#sum(this.#counts, slot);
  }

  /** Counts requests over a connection that is counted there. @param count negative for those that ended */
  addRequests(slot: ClientSlot, count: number): void {
    this.#add(this.#requests, slot, count);
  }

  /** The requests that are counted in a slot. */
  requestsOf(slot: ClientSlot): number {
    return this.#sum(this.#requests, slot);
  }

  /** Removes the connections and requests of a thread that ended. */
  clear(thread: number): void {
    for (const counts of [this.#counts, this.#requests])
      counts.fill(0, thread * this.#slots, (thread + 1) * this.#slots);
  }

  #sum(counts: Int32Array, slot: ClientSlot): number {
    let sum = 0;
    for (let cell = slot; cell < counts.length; cell += this.#slots) sum += counts[cell]!;
    return sum;
  }

  protected override useOf(slot: number): number {
    return this.totalOf(slot);
  }

  protected override claimed(): void {}

  #add(counts: Int32Array, slot: ClientSlot, by: number): void {
    const cell = this.#row + slot;
    counts[cell] = counts[cell]! + by;
  }
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
