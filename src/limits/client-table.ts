import { LRUCache } from "lru-cache";
import { type AddressRange, isInRange, readSocketAddress } from "../dns/address.ts";

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
export abstract class SharedClientTable {
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

/** Decides which addresses are one client, and which have no limit. */
export interface ClientNetworkSettings {
  /** Addresses without a limit, such as those of proxies, which have many clients. */
  readonly exempt: readonly AddressRange[];
  /** Addresses with the same prefix of this length are one client. */
  readonly ipv4PrefixBits: number;
  readonly ipv6PrefixBits: number;
}

/** The most remembered addresses; remembering saves parsing one for every request. */
const MOST_ADDRESSES = 10_000;
const EXEMPT = "";

/** Maps an address to its client. */
export class ClientNetworks {
  readonly #settings: ClientNetworkSettings;
  readonly #known = new LRUCache<string, string>({ max: MOST_ADDRESSES });

  constructor(settings: ClientNetworkSettings) {
    this.#settings = settings;
  }

  /**
   * The key of an address's client.
   * @param address as a socket's text; any other text is a client of its own
   * @returns undefined for an address without a limit
   */
  of(address: string): string | undefined {
    let key = this.#known.get(address);
    if (key === undefined) {
      key = this.#read(address);
      this.#known.set(address, key);
    }
    return key === EXEMPT ? undefined : key;
  }

  #read(text: string): string {
    const address = readSocketAddress(text);
    if (address === undefined) return text === "" ? "unknown" : text;
    const { exempt, ipv4PrefixBits, ipv6PrefixBits } = this.#settings;
    if (exempt.some((range) => isInRange(address, range))) return EXEMPT;
    return prefixOf(address, address.length === 4 ? ipv4PrefixBits : ipv6PrefixBits);
  }
}

function prefixOf(address: Uint8Array, bits: number): string {
  const whole = bits >> 3;
  const prefix = Array.from(address.subarray(0, whole));
  if ((bits & 7) !== 0) prefix.push(address[whole]! & (0xff << (8 - (bits & 7))));
  // Networks of both families, and with prefixes of all lengths, have distinct keys.
  return `${address.length}/${prefix.join(".")}`;
}
