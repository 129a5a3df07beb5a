import type { ClientBuckets, RateName } from "../client-rate.ts";
import type { Rate } from "../token-buckets.ts";
import { type ClientCountMemory, SharedClientCounts } from "./client-counts.ts";
import { type BucketMemory, SharedBuckets } from "./shared-buckets.ts";
import { type Count, type Counted, SharedCounts } from "./shared-counts.ts";

/** The servers that count the connections of each client. */
export type ConnectionKind = "https" | "dns" | "dot";

/** The memory of all limits that count for a process as a whole. It is structured-clonable: each thread gets it with its `workerData`. */
export interface SharedLimitMemory {
  readonly counts: SharedArrayBuffer;
  readonly rates: Readonly<Record<RateName, BucketMemory>>;
  readonly clients: Readonly<Record<ConnectionKind, ClientCountMemory>>;
}

/** The sizes of the memory. */
export interface SharedLimitSizes {
  /** The most threads at the same time. */
  readonly threads: number;
  /** The most connections of each kind. */
  readonly connections: Readonly<Record<ConnectionKind, number>>;
}

/** The clients with a bucket of their own at the same time, for each rate: 1.5 MiB. */
const CLIENTS = 131_072;

/**
 * The limits of a process, from one of its threads. The thread that starts the others allocates the memory, and each thread makes its
 * own `SharedLimits` with its number. When a thread has ended, another one clears its number before a new thread gets it.
 *
 * Not here, since one thread alone has them: limits on pushes, and limits within one connection. The delay of the event loop is that of each thread.
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
