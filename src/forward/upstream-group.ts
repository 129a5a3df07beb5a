import { ResponseCode } from "../dns/name.ts";
import { MAX_MESSAGE_BYTES } from "../resolve/message-writer.ts";
import type { ForwardCounters } from "./counters.ts";
import type { Upstream } from "./upstream.ts";
import { readUpstreamAnswer, type UpstreamAnswer } from "./upstream.ts";

/** The limits on exchanges with name servers; times are in milliseconds. */
export interface UpstreamLimits {
  /** One name server. */
  readonly serverMilliseconds: number;
  /** All of them together. */
  readonly totalMilliseconds: number;
  /** After this time without an answer the query also goes to the next one; 0 for never. Default: never. */
  readonly hedgeMilliseconds?: number;
  /** The longest accepted answer in bytes. Default: any. */
  readonly answerBytes?: number;
}

type ExchangeCounters = Pick<ForwardCounters, "exchanged" | "hedges">;

/** An answer, and the name of its upstream. */
export interface UpstreamReply {
  readonly answer: UpstreamAnswer;
  readonly upstream: string;
}

export const DEFAULT_UPSTREAM_TIMEOUTS = { serverMilliseconds: 1500, totalMilliseconds: 5000 } as const;

/**
 * Extended DNS Errors of final answers: DNSSEC does not validate, or a policy forbids the answer (RFC 8914
 * section 4, and the registry). The query does not go to another name server, because one that does not
 * validate would answer it.
 */
const DELIBERATE = new Set([1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17, 25, 27]);

/** In the long run, one in this many questions may be hedged. */
const QUESTIONS_PER_HEDGE = 5;
/** The most hedges in one burst. */
const MOST_HEDGES = 100;

/** A pending question. */
interface Attempt {
  readonly query: Uint8Array;
  readonly running: Set<AbortController>;
  isLate: boolean;
}

/** Name servers with the same data. They are tried in their order; those that failed recently come last. */
export class UpstreamGroup {
  readonly #upstreams: readonly Upstream[];
  readonly #limits: UpstreamLimits;
  readonly #counters: ExchangeCounters | undefined;
  readonly #health: UpstreamHealth;
  /**
   * The budget of hedging, in questions. A name server that is always slow must not double the load: of
   * 10,000 questions to such a one the next one gets 2,080; without a budget it gets all 10,000
   * (upstream-group.test.ts counts them).
   */
  #hedgeBudget = MOST_HEDGES * QUESTIONS_PER_HEDGE;

  constructor(
    upstreams: readonly Upstream[],
    limits: UpstreamLimits,
    onChange?: OnUpstreamChange,
    counters?: ExchangeCounters,
  ) {
    this.#upstreams = upstreams;
    this.#limits = limits;
    this.#counters = counters;
    this.#health = new UpstreamHealth(upstreams, onChange);
  }

  /** The name servers by name, and whether they are set aside after failures. */
  states(): { readonly upstream: string; readonly isSetAside: boolean }[] {
    return this.#upstreams.map((upstream) => ({
      upstream: upstream.nameserver,
      isSetAside: this.#health.isSetAside(upstream),
    }));
  }

  /** The time of the last answer of any of them, by `performance.now()`. */
  get answeredAt(): number {
    return this.#health.answeredAt;
  }

  /**
   * Tries name servers until one returns a conclusive answer: records, NODATA, NXDOMAIN, or a final error. If
   * none does, the first other answer (such as REFUSED) counts; undefined if none answered in time.
   * @param query ID 0, one question
   * @param signal ends the attempt like the time for all of them
   */
  ask(query: Uint8Array, signal?: AbortSignal): Promise<UpstreamReply | undefined> {
    const { totalMilliseconds, hedgeMilliseconds = 0, answerBytes = MAX_MESSAGE_BYTES } = this.#limits;
    const waiting = this.#health.inOrder();
    const attempt: Attempt = { query, running: new Set(), isLate: false };
    this.#hedgeBudget = Math.min(MOST_HEDGES * QUESTIONS_PER_HEDGE, this.#hedgeBudget + 1);
    return new Promise((resolve, reject) => {
      let lame: UpstreamReply | undefined;
      let isOver = false;
      let hedge: ReturnType<typeof setTimeout> | undefined;
      const giveUp = (reason: unknown) => {
        attempt.isLate = true;
        end(lame);
        for (const controller of attempt.running) controller.abort(reason);
      };
      const total = setTimeout(
        () => giveUp(new Error(`there was no answer within ${totalMilliseconds} ms`)),
        totalMilliseconds,
      );
      signal?.addEventListener("abort", () => giveUp(signal.reason), { once: true });
      const end = (reply: UpstreamReply | undefined) => {
        isOver = true;
        clearTimeout(hedge);
        clearTimeout(total);
        resolve(reply);
      };
      const start = (upstream: Upstream) =>
        this.#exchange(upstream, attempt)
          .then((answer) => {
            if (isOver) return;
            if (answer !== undefined && answer.bytes.length <= answerBytes) {
              const reply = { answer, upstream: upstream.nameserver };
              // The losing exchange continues until its own time limit, to find out whether that name server
              // answers at all.
              if (isConclusive(answer)) return end(reply);
              lame ??= reply;
            }
            startNext();
          })
          .catch((error) => {
            reject(error);
            end(lame);
          });
      const startNext = () => {
        const next = waiting.shift();
        if (next !== undefined) start(next);
        else if (attempt.running.size === 0) end(lame);
      };
      startNext();
      const probe = this.#health.takeProbe();
      const at = probe === undefined ? -1 : waiting.indexOf(probe);
      if (at >= 0) start(waiting.splice(at, 1)[0]!);
      if (hedgeMilliseconds > 0)
        hedge = setTimeout(() => {
          if (this.#mayHedge(attempt, waiting[0])) startNext();
        }, hedgeMilliseconds);
    });
  }

  close(): void {
    for (const upstream of this.#upstreams) upstream.close();
  }

  #mayHedge({ running }: Attempt, next: Upstream | undefined): boolean {
    if (running.size > 1 || next === undefined || this.#health.isSetAside(next)) return false;
    if (this.#hedgeBudget < QUESTIONS_PER_HEDGE) return false;
    this.#hedgeBudget -= QUESTIONS_PER_HEDGE;
    if (this.#counters !== undefined) this.#counters.hedges++;
    return true;
  }

  /**
   * One exchange with its own time limit; undefined if it failed, which it has reported to health and
   * counters.
   */
  async #exchange(upstream: Upstream, attempt: Attempt): Promise<UpstreamAnswer | undefined> {
    const { serverMilliseconds } = this.#limits;
    const startedAt = performance.now();
    const controller = new AbortController();
    attempt.running.add(controller);
    const timer = setTimeout(
      () => controller.abort(new Error(`there was no answer within ${serverMilliseconds} ms`)),
      serverMilliseconds,
    );
    const ended = (error?: Error) =>
      this.#counters?.exchanged(upstream.nameserver, performance.now() - startedAt, error);
    try {
      const bytes = await exchangeUntilAborted(upstream, attempt.query, controller.signal);
      const answer = readUpstreamAnswer(attempt.query, bytes);
      if (answer === undefined)
        throw new Error("its answer is malformed, or not for this query (ID, question)");
      this.#health.answered(upstream);
      ended();
      return answer;
    } catch (thrown) {
      // A name server that had less than its full time has not failed.
      if (attempt.isLate) return undefined;
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#health.failed(upstream, startedAt, error);
      ended(error);
      return undefined;
    } finally {
      clearTimeout(timer);
      attempt.running.delete(controller);
    }
  }
}

function isConclusive({ rcode, extendedError }: UpstreamAnswer): boolean {
  return rcode === ResponseCode.NOERROR || rcode === ResponseCode.NXDOMAIN || DELIBERATE.has(extendedError);
}

/** Rejects at once when the signal is aborted; not every transport does. */
function exchangeUntilAborted(
  upstream: Upstream,
  query: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    upstream.exchange(query, signal).then(resolve, reject);
  });
}

/** Called when a name server stops answering (with the error), and when it answers again. */
export type OnUpstreamChange = (upstream: string, error: Error | undefined) => void;

/**
 * The pause before a query probes a failed name server, in milliseconds; every further failure doubles it.
 */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 60_000;

interface SetAside {
  readonly failedAt: number;
  readonly pause: number;
  probeAt: number;
}

/**
 * Tracks which of several name servers answer. A failed one is set aside: it comes after the others, and a
 * query probes it from time to time.
 */
class UpstreamHealth {
  readonly #upstreams: readonly Upstream[];
  readonly #onChange: OnUpstreamChange | undefined;
  readonly #setAside = new Map<Upstream, SetAside>();
  readonly #answeredAt = new Map<Upstream, number>();

  constructor(upstreams: readonly Upstream[], onChange: OnUpstreamChange | undefined) {
    this.#upstreams = upstreams;
    this.#onChange = onChange;
  }

  /** The working ones in their order, then those that are set aside, the longest first. */
  inOrder(): Upstream[] {
    if (this.#setAside.size === 0) return [...this.#upstreams];
    const failedAt = (upstream: Upstream) =>
      this.#setAside.get(upstream)?.failedAt ?? Number.NEGATIVE_INFINITY;
    return this.#upstreams.toSorted((one, other) => {
      const [here, there] = [failedAt(one), failedAt(other)];
      return here === there ? 0 : here - there;
    });
  }

  isSetAside(upstream: Upstream): boolean {
    return this.#setAside.has(upstream);
  }

  /**
   * One whose pause has ended, to be probed beside the others; it is not returned again before its next pause
   * ends.
   */
  takeProbe(): Upstream | undefined {
    if (this.#setAside.size === 0) return undefined;
    const now = performance.now();
    for (const [upstream, state] of this.#setAside)
      if (now >= state.probeAt) {
        state.probeAt = now + state.pause;
        return upstream;
      }
    return undefined;
  }

  /** The time of the last answer of any of them, by `performance.now()`. */
  get answeredAt(): number {
    return Math.max(Number.NEGATIVE_INFINITY, ...this.#answeredAt.values());
  }

  answered(upstream: Upstream): void {
    this.#answeredAt.set(upstream, performance.now());
    if (this.#setAside.delete(upstream)) this.#onChange?.(upstream.nameserver, undefined);
  }

  /** @param askedAt the start of the exchange that failed */
  failed(upstream: Upstream, askedAt: number, error: Error): void {
    // A slow name, perhaps slow on purpose, is no failure of a name server that answers other queries
    // meanwhile.
    if ((this.#answeredAt.get(upstream) ?? Number.NEGATIVE_INFINITY) > askedAt) return;
    const before = this.#setAside.get(upstream);
    const now = performance.now();
    // Queries that were pending together fail together: that is one failure.
    if (before !== undefined && now < before.failedAt + FIRST_PAUSE) return;
    const pause = before === undefined ? FIRST_PAUSE : Math.min(before.pause * 2, LONGEST_PAUSE);
    this.#setAside.set(upstream, { failedAt: now, pause, probeAt: now + pause });
    if (before === undefined) this.#onChange?.(upstream.nameserver, error);
  }
}
