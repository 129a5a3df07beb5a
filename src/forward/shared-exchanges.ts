import type { Count } from "../limits/counters.ts";

/** The least time of an exchange before another one may take its place, in milliseconds. */
const LEAST_WAIT = 200;

/**
 * The most queries that join exchanges, for each exchange that there may be. A joined query costs some memory
 * until the exchange ends, and the addresses of clients over plain DNS may be forged.
 */
const JOINED_PER_EXCHANGE = 10;

interface Exchange<Answer> {
  readonly answer: Promise<Answer>;
  /** Aborted when a newer exchange takes its place. */
  readonly signal: AbortSignal;
}

interface JoinedExchange<Answer> extends Exchange<Answer> {
  readonly isJoined: boolean;
}

/** Exchanges with name servers. Equal queries share one. */
export class SharedExchanges<Answer> {
  readonly #places: ExchangePlaces;
  readonly #running = new Map<string, Exchange<Answer> & { joined: number }>();

  constructor(places: ExchangePlaces) {
    this.#places = places;
  }

  /**
   * Joins the exchange of an equal query, else starts one.
   * @param key equal queries have the same one; undefined for a query that shares nothing
   * @returns undefined if there is no place
   */
  joinOrStart(
    key: string | undefined,
    start: (signal: AbortSignal) => Promise<Answer>,
  ): JoinedExchange<Answer> | undefined {
    const running = key === undefined ? undefined : this.#running.get(key);
    if (running !== undefined && !running.signal.aborted) {
      if (!this.#places.join(running.joined)) return undefined;
      running.joined++;
      return { ...running, isJoined: true };
    }
    const controller = new AbortController();
    const free = this.#places.take(controller);
    if (free === undefined) return undefined;
    const { signal } = controller;
    const answer = start(signal).finally(() => {
      free();
      this.#places.leave(exchange.joined);
      if (key !== undefined && this.#running.get(key) === exchange) this.#running.delete(key);
    });
    const exchange = { answer, signal, joined: 0 };
    if (key !== undefined) this.#running.set(key, exchange);
    return { answer, signal, isJoined: false };
  }
}

interface Place {
  readonly since: number;
  readonly exchange: AbortController;
}

/**
 * Bounds the exchanges with name servers. At the bound a new one takes the place of the oldest: a few clients
 * with names whose servers are silent on purpose would otherwise keep all others from getting answers
 * (Unbound has the option `jostle-timeout` for this, BIND `recursive-clients`).
 */
export class ExchangePlaces {
  readonly #most: number;
  readonly #shared: Count | undefined;
  /** The oldest first. */
  readonly #taken = new Set<Place>();
  /** The queries that joined exchanges. */
  #joined = 0;

  /** @param shared those of all threads. Default: this object alone counts them */
  constructor(most: number, shared?: Count) {
    this.#most = most;
    this.#shared = shared;
  }

  /**
   * Takes a place.
   * @param exchange aborted if a newer one needs its place
   * @returns frees the place; undefined if there is none
   */
  take(exchange: AbortController): (() => void) | undefined {
    if (this.#isFull()) this.#endOldest();
    if (this.#isFull()) return undefined;
    const place = { since: performance.now(), exchange };
    this.#taken.add(place);
    // Threads that find the last place at the same time all take it.
    this.#shared?.begin(Number.POSITIVE_INFINITY);
    return () => this.#free(place);
  }

  /**
   * Counts a query that joins an exchange, unless too many have.
   * @param joined those that wait for this exchange
   */
  join(joined: number): boolean {
    if (joined >= this.#most || this.#joined >= this.#most * JOINED_PER_EXCHANGE) return false;
    this.#joined++;
    return true;
  }

  /** Counts queries no more that waited for an exchange, which has ended. */
  leave(joined: number): void {
    this.#joined -= joined;
  }

  #isFull(): boolean {
    return (this.#shared?.total ?? this.#taken.size) >= this.#most;
  }

  #endOldest(): void {
    const [oldest] = this.#taken;
    if (oldest === undefined || performance.now() < oldest.since + LEAST_WAIT) return;
    this.#free(oldest);
    oldest.exchange.abort(new Error("newer ones need its place"));
  }

  #free(place: Place): void {
    if (this.#taken.delete(place)) this.#shared?.end();
  }
}
