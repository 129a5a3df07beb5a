/** The words of the shared memory. */
const Word = { posted: 0, heartbeat: 1, started: 2, behind: 3, serial: 4 } as const;
/** Where a word of 64 bits follows them. */
const LONG_WORD = 24;
const BYTES = LONG_WORD + BigInt64Array.BYTES_PER_ELEMENT;
/** How often the main thread shows that it runs, in milliseconds. */
const HEARTBEAT = 1000;
/** For so long the main thread may stand still before answers say that they are stale, in milliseconds: as long as those of an isolate whose primary does not answer. */
const MOST_SILENCE = 4000;

/** What the main thread knows and the database does not have. */
export interface SharedFacts {
  /** SOA serial of the newest change. */
  readonly serial: number;
  /** See `Clock.wallOffset`: threads that have the same one agree on when a lease expires. */
  readonly wallOffset: number;
}

/** Words that the main thread writes and answering threads read with each query, which costs less than a message. */
export class ThreadSignals {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #wallOffset: BigInt64Array<SharedArrayBuffer>;

  constructor(memory = new SharedArrayBuffer(BYTES)) {
    this.memory = memory;
    this.#words = new Int32Array(memory, 0, LONG_WORD / Int32Array.BYTES_PER_ELEMENT);
    this.#wallOffset = new BigInt64Array(memory, LONG_WORD, 1);
  }

  /** Changes with every change of the database, and every message that every thread has; it begins anew at the smallest number after the greatest one. */
  get posted(): number {
    return Atomics.load(this.#words, Word.posted);
  }

  /** The number of the next change. */
  get next(): number {
    return (this.posted + 1) | 0;
  }

  /** To be called after the database changed, or after a message was posted to every thread. */
  post(): void {
    Atomics.add(this.#words, Word.posted, 1);
  }

  get serial(): number {
    return Atomics.load(this.#words, Word.serial) >>> 0;
  }

  get wallOffset(): number {
    return Number(Atomics.load(this.#wallOffset, 0));
  }

  /** Shares facts, before `post`. */
  share({ serial, wallOffset }: SharedFacts): void {
    Atomics.store(this.#words, Word.serial, serial | 0);
    Atomics.store(this.#wallOffset, 0, BigInt(Math.round(wallOffset)));
  }

  /** Shares since when a change waits that answers should have; undefined for none. */
  shareBehind(since: number | undefined): void {
    Atomics.store(this.#words, Word.behind, since === undefined ? 0 : secondsOf(since));
  }

  /** Since when answers may lack something, to a second: a change waits, or the main thread stands still. @param now by the gateway's clock */
  behindSince(now: number): number | undefined {
    if (!this.isFresh(now)) return now - this.silence(now);
    const since = Atomics.load(this.#words, Word.behind);
    return since === 0 ? undefined : now - ((secondsOf(now) - since) | 0) * 1000;
  }

  /** Shows that the main thread runs. @param now by the gateway's clock */
  beat(now: number): void {
    Atomics.store(this.#words, Word.heartbeat, secondsOf(now));
  }

  /** Whether the main thread ran lately. @param now by the gateway's clock */
  isFresh(now: number): boolean {
    return this.silence(now) <= MOST_SILENCE;
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
