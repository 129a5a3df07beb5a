import type { Count } from "../limits/counters.ts";

/** How long a query waits at least before another one may take its place, in milliseconds. */
const LEAST_WAIT = 200;

/** What equal queries wait for. */
export interface Exchange<Answer> {
  readonly answer: Promise<Answer>;
  readonly controller: AbortController;
}

/** A query that waits for name servers. */
interface WaitingQuery {
  readonly since: number;
  readonly exchange: AbortController;
}

/**
 * The queries that wait for name servers, up to a bound. At the bound a new one takes the place of the one
 * that waits longest: a few clients with names whose servers are silent on purpose would otherwise keep all
 * others from getting answers (Unbound has the option `jostle-timeout` for this, BIND `recursive-clients`).
 */
export class WaitingQueries {
  readonly #most: number;
  readonly #shared: Count | undefined;
  /** The oldest first. */
  readonly #waiting = new Set<WaitingQuery>();

  /** @param shared those of all threads. Default: this object alone counts them */
  constructor(most: number, shared?: Count) {
    this.#most = most;
    this.#shared = shared;
  }

  /**
   * Takes a place.
   * @param exchange what the query waits for, perhaps with others; it is aborted if a newer query needs the
   * place
   * @returns frees the place; undefined if there is none
   */
  take(exchange: AbortController): (() => void) | undefined {
    if (this.#isFull()) this.#endOldest();
    if (this.#isFull()) return undefined;
    const query = { since: performance.now(), exchange };
    this.#waiting.add(query);
    // Threads that find the last place at the same time all take it.
    this.#shared?.begin(Number.POSITIVE_INFINITY);
    return () => this.#free(query);
  }

  #isFull(): boolean {
    return (this.#shared?.total ?? this.#waiting.size) >= this.#most;
  }

  #endOldest(): void {
    const [oldest] = this.#waiting;
    if (oldest === undefined || performance.now() < oldest.since + LEAST_WAIT) return;
    this.#free(oldest);
    oldest.exchange.abort(new Error("newer queries need its place"));
  }

  #free(query: WaitingQuery): void {
    if (this.#waiting.delete(query)) this.#shared?.end();
  }
}
