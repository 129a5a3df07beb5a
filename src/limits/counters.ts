/**
 * The limits whose effects are counted, by their keys in the configuration, so that clients cannot add
 * series. A burst counts with its rate. `http2` are the limits of Node.js itself on frames.
 */
export const LIMITS = [
  "clients.requestsPerSecond",
  "clients.connections",
  "clients.connectionsPerSecond",
  "limits.queryBytes",
  "limits.headerBytes",
  "limits.headerFields",
  "limits.connections",
  "limits.streamsPerConnection",
  "limits.streamResets",
  "limits.requestsInFlight",
  "limits.loopDelayMilliseconds",
  "limits.handshakeSeconds",
  "limits.requestSeconds",
  "limits.responseSeconds",
  "limits.idleSeconds",
  "limits.clusters",
  "limits.snapshotCharacters",
  "limits.namespaces",
  "limits.exports",
  "limits.imports",
  "limits.services",
  "limits.pods",
  "limits.endpoints",
  "limits.endpointsPerService",
  "limits.ports",
  "limits.findings",
  "limits.metadataCharacters",
  "limits.pushSentBytes",
  "limits.pushBytes",
  "limits.pushRatio",
  "limits.pushLevels",
  "limits.pushValues",
  "limits.pushValuesPerSecond",
  "limits.pushBytesInFlight",
  "limits.pushIdleSeconds",
  "limits.pushSeconds",
  "limits.pushesInFlight",
  "limits.pushesPerSecond",
  "limits.controlStreams",
  "limits.controlStreamsPerCluster",
  "limits.controlIdleSeconds",
  "dns.connections",
  "dns.connectionsPerClient",
  "dns.queriesPerConnection",
  "dns.idleSeconds",
  "dot.connections",
  "dot.connectionsPerClient",
  "dot.queriesPerConnection",
  "dot.idleSeconds",
  "stub.federations",
  "audit.linesPerSecond",
  "http1",
  "http2",
] as const;

export type Limit = (typeof LIMITS)[number];

/** How often each key was counted. The metrics exporter reads it on demand. */
export class Tally<Key> extends Map<Key, number> {
  /** @param known keys that are there although they were never counted */
  constructor(known: readonly Key[] = []) {
    super(known.map((key) => [key, 0]));
  }

  hit(key: Key, times = 1): void {
    this.set(key, (this.get(key) ?? 0) + times);
  }
}

/** How often each limit rejected, cut off or closed something. */
export class LimitCounters extends Tally<Limit> {
  constructor() {
    super(LIMITS);
  }
}

/** The object that reported an error: the label `source` of `clusterset_doh_connection_errors_total`. */
const ERROR_SOURCES = ["tcp", "tls", "http1", "http2", "dns_udp", "dns_tcp", "dot", "server"] as const;

type ErrorSource = (typeof ERROR_SOURCES)[number];

/** Counts the errors of connections. An error ends only its connection. */
export class ConnectionErrors {
  /** Listeners for `error` events, one for each source: adding one costs no closure. */
  readonly listeners: Readonly<Record<ErrorSource, (error: Error) => void>>;
  readonly counts = new Tally(ERROR_SOURCES);

  /** @param log called for every error. Default: errors are only counted */
  constructor(log: (source: ErrorSource, error: Error) => void = () => {}) {
    const listeners = ERROR_SOURCES.map((source) => [
      source,
      (error: Error) => {
        this.counts.hit(source);
        log(source, error);
      },
    ]);
    this.listeners = Object.fromEntries(listeners);
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

/** The load of a host. */
export interface Load {
  /** Whether requests that can wait should be rejected. */
  readonly isHigh: boolean;
}

const SAMPLE_MILLISECONDS = 50;
/** The median of this many samples counts: one long compilation is not overload. */
const SAMPLES = 9;

/**
 * Measures the delay of a timer, which is also the delay of every request that arrives in this thread. The
 * process is overloaded if one of its threads is: whatever a thread hands to another one is work for both.
 * Portable, since not every runtime has `perf_hooks.monitorEventLoopDelay`.
 */
export class LoopDelay implements Load {
  readonly #most: number;
  readonly #now: () => number;
  readonly #samples = new Array<number>(SAMPLES).fill(0);
  #next = 0;
  readonly #overloaded: Count;
  #expectedAt: number;
  #isOwnHigh = false;

  /**
   * @param most the longest delay without overload, in milliseconds
   * @param now monotonic milliseconds
   * @param overloaded the overloaded threads of the process. Default: this object alone counts them
   */
  constructor(
    most: number,
    now: () => number = () => performance.now(),
    overloaded: Count = ownCount("overloaded"),
  ) {
    this.#most = most;
    this.#now = now;
    this.#overloaded = overloaded;
    this.#expectedAt = now() + SAMPLE_MILLISECONDS;
  }

  get isHigh(): boolean {
    return this.#overloaded.total > 0;
  }

  /** Takes one sample; a timer calls it every `SAMPLE_MILLISECONDS`. */
  sample(): void {
    const now = this.#now();
    this.#samples[this.#next] = now - this.#expectedAt;
    this.#next = (this.#next + 1) % SAMPLES;
    this.#expectedAt = now + SAMPLE_MILLISECONDS;
    const sorted = this.#samples.toSorted((one, other) => one - other);
    this.#tell(sorted[SAMPLES >> 1]! > this.#most);
  }

  #tell(isHigh: boolean): void {
    if (isHigh === this.#isOwnHigh) return;
    this.#isOwnHigh = isHigh;
    if (isHigh) this.#overloaded.begin(Number.POSITIVE_INFINITY);
    else this.#overloaded.end();
  }

  /** Starts to take samples. @returns a function that stops it */
  start(): () => void {
    const timer: unknown = setInterval(() => this.sample(), SAMPLE_MILLISECONDS);
    (timer as { unref?: () => void }).unref?.();
    return () => {
      clearInterval(timer as Parameters<typeof clearInterval>[0]);
      this.#tell(false);
    };
  }
}

/** Requests in progress, until the client has read the response. */
export class RequestsInFlight implements Load {
  readonly #most: number;
  readonly #requests: Count;

  /** @param requests those of all threads. Default: this object alone counts them */
  constructor(most: number, requests: Count = ownCount("requests")) {
    this.#most = most;
    this.#requests = requests;
  }

  get count(): number {
    return this.#requests.total;
  }

  /** Half of the places are reserved for requests that cannot wait. */
  get isHigh(): boolean {
    return this.count * 2 > this.#most;
  }

  /** Takes a place; false if there is none. */
  begin(): boolean {
    return this.#requests.begin(this.#most);
  }

  /** Takes places for what a request holds, also where there are none. */
  hold(places: number): void {
    for (let place = 0; place < places; place++) this.#requests.begin(Number.POSITIVE_INFINITY);
  }

  /** Frees places. */
  end(places = 1): void {
    for (let place = 0; place < places; place++) this.#requests.end();
  }
}

/** A load that is high if one of several is. */
export function anyLoad(loads: readonly Load[]): Load {
  return {
    get isHigh() {
      return loads.some(({ isHigh }) => isHigh);
    },
  };
}
