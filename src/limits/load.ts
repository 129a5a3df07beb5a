import { type Count, ownCount } from "./shared.ts";

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
