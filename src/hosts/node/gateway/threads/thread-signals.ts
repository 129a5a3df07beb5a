import { DEFAULT_REFRESH_POLICY } from "../../../../transfer/refresh-policy.ts";

/** The words of the shared memory. */
const Word = { posted: 0, heartbeat: 1, started: 2 } as const;
const BYTES = 3 * Int32Array.BYTES_PER_ELEMENT;
/** How often the main thread shows that it runs, in milliseconds. */
const HEARTBEAT = 1000;

/** Words that the main thread writes and answering threads read with each query, which costs less than a message. */
export class ThreadSignals {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array<SharedArrayBuffer>;

  constructor(memory = new SharedArrayBuffer(BYTES)) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  /** The number of the newest state that every thread has; it begins anew at the smallest one after the greatest one. */
  get posted(): number {
    return Atomics.load(this.#words, Word.posted);
  }

  /** The number of the next state. */
  get next(): number {
    return (this.posted + 1) | 0;
  }

  /** To be called after a state was posted to every thread. */
  post(): void {
    Atomics.add(this.#words, Word.posted, 1);
  }

  /** Shows that the main thread runs. @param now by the gateway's clock */
  beat(now: number): void {
    Atomics.store(this.#words, Word.heartbeat, secondsOf(now));
  }

  /** Whether the main thread ran lately: as long as a secondary answers from a state without saying that it is stale. @param now by the gateway's clock */
  isFresh(now: number): boolean {
    return this.silence(now) <= DEFAULT_REFRESH_POLICY.limit;
  }

  /** Milliseconds since the main thread last ran, to a second. @param now by the gateway's clock */
  silence(now: number): number {
    const seconds = (secondsOf(now) - Atomics.load(this.#words, Word.heartbeat)) | 0;
    return seconds <= HEARTBEAT / 1000 ? 0 : seconds * 1000;
  }

  /** Whether every thread has listened. */
  get isStarted(): boolean {
    return Atomics.load(this.#words, Word.started) === 1;
  }

  /** To be called when every thread listens. */
  markStarted(): void {
    Atomics.store(this.#words, Word.started, 1);
  }

  /** Shows from now on that the main thread runs. @param beaten called each time. @returns a function that ends it */
  start(clock: () => number, beaten: () => void): () => void {
    this.beat(clock());
    const timer = setInterval(() => {
      this.beat(clock());
      beaten();
    }, HEARTBEAT).unref();
    return () => clearInterval(timer);
  }
}

function secondsOf(now: number): number {
  return Math.floor(now / 1000) | 0;
}
