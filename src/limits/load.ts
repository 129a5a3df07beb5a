/** How busy a host is. */
export interface Load {
  /** Whether what can wait should be refused. */
  readonly isHigh: boolean;
}

const SAMPLE_MILLISECONDS = 50;
/** The median of so many samples counts: a compilation that holds the thread up once is no overload. */
const SAMPLES = 9;

/**
 * Measures by how much a timer is late: for so long everything waits that arrives. Portable, since not every runtime has
 * `perf_hooks.monitorEventLoopDelay`.
 */
export class LoopDelay implements Load {
  readonly #most: number;
  readonly #now: () => number;
  readonly #samples = new Array<number>(SAMPLES).fill(0);
  #next = 0;
  #expectedAt: number;
  isHigh = false;

  /**
   * @param most milliseconds
   * @param now milliseconds that never go back
   */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#now = now;
    this.#expectedAt = now() + SAMPLE_MILLISECONDS;
  }

  /** Takes one sample; to be called by a timer each `SAMPLE_MILLISECONDS`. */
  sample(): void {
    const now = this.#now();
    this.#samples[this.#next] = now - this.#expectedAt;
    this.#next = (this.#next + 1) % SAMPLES;
    this.#expectedAt = now + SAMPLE_MILLISECONDS;
    const sorted = this.#samples.toSorted((one, other) => one - other);
    this.isHigh = sorted[SAMPLES >> 1]! > this.#most;
  }

  /** Starts to take samples. @returns what ends it */
  start(): () => void {
    const timer: unknown = setInterval(() => this.sample(), SAMPLE_MILLISECONDS);
    (timer as { unref?: () => void }).unref?.();
    return () => clearInterval(timer as Parameters<typeof clearInterval>[0]);
  }
}

/** Requests that have begun, and whose responses have not been taken. */
export class RequestsInFlight implements Load {
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#count;
  }

  /** Half of the places are kept for what cannot wait. */
  get isHigh(): boolean {
    return this.#count * 2 > this.#most;
  }

  /** Takes a place; false where there is none. */
  begin(): boolean {
    if (this.#count >= this.#most) return false;
    this.#count++;
    return true;
  }

  /** Gives a place back. */
  end(): void {
    this.#count--;
  }
}

/** High where one of these is. */
export function anyLoad(loads: readonly Load[]): Load {
  return {
    get isHigh() {
      return loads.some(({ isHigh }) => isHigh);
    },
  };
}
