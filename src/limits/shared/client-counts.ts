import { SharedClientTable } from "./client-table.ts";

/** The memory of one kind of connections. It is structured-clonable: a thread gets it with its `workerData`. */
export interface ClientCountMemory {
  readonly keys: SharedArrayBuffer;
  readonly counts: SharedArrayBuffer;
}

/** The slot in which a connection is counted. */
export type ClientSlot = number;

/**
 * The number of open connections of each client, in all threads of a process. Each thread has a row, as in `SharedCounts`.
 *
 * A slot without connections goes to the next client. While all slots of a set have connections, a further client is counted
 * with the client that has the fewest: both have one limit together, and neither is kept out. The same happens to two clients that
 * get a slot from two threads in the same nanoseconds.
 */
export class SharedClientCounts extends SharedClientTable {
  readonly #counts: Int32Array;
  readonly #slots: number;
  readonly #row: number;

  /** Memory for at least so many clients at the same time, and so many threads. */
  static allocate(clients: number, threads: number): ClientCountMemory {
    const keys = SharedClientTable.allocateKeys(clients);
    return { keys, counts: new SharedArrayBuffer(SharedClientTable.slotsOf(keys) * threads * 4) };
  }

  /** @param thread the number of the thread that counts, from 0 */
  constructor({ keys, counts }: ClientCountMemory, thread: number) {
    super(keys);
    this.#counts = new Int32Array(counts);
    this.#slots = SharedClientTable.slotsOf(keys);
    this.#row = thread * this.#slots;
  }

  /** Counts a connection of a client. @returns where; `end` takes it back */
  begin(client: string): ClientSlot {
    const slot = this.slotOf(client);
    this.#change(slot, 1);
    return slot;
  }

  /** Counts a connection no more. */
  end(slot: ClientSlot): void {
    this.#change(slot, -1);
  }

  /** The connections that are counted in a slot. */
  totalOf(slot: ClientSlot): number {
    let sum = 0;
    for (let cell = slot; cell < this.#counts.length; cell += this.#slots) sum += this.#counts[cell]!;
    return sum;
  }

  /** Removes the connections of a thread that ended. */
  clear(thread: number): void {
    this.#counts.fill(0, thread * this.#slots, (thread + 1) * this.#slots);
  }

  protected override useOf(slot: number): number {
    return this.totalOf(slot);
  }

  protected override claimed(): void {}

  #change(slot: ClientSlot, by: number): void {
    const cell = this.#row + slot;
    this.#counts[cell] = this.#counts[cell]! + by;
  }
}
