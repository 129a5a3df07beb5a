import { type Clock, waitingClock } from "../gateway/clock.ts";
import type { DohGateway } from "../gateway/doh-gateway.ts";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import type { PartialStages, QueryContext } from "../gateway/stages.ts";
import type { Visibility } from "../merge/visibility/visibility.ts";
import type { Answer, Missing } from "../resolve/answer.ts";
import type { Transport } from "../resolve/message/transport.ts";
import type { Generation } from "../zone/generation/generation.ts";
import { sleep } from "./deadline.ts";
import { type FetchParts, fetchNewest, type Newest } from "./fetch-newest.ts";
import { GenerationKeeper } from "./generation-keeper.ts";
import type { AnySegment } from "./parts/any-segment.ts";
import { MissingSegments } from "./parts/missing-segments.ts";
import type { SegmentCache } from "./parts/segment-cache.ts";
import { type RefreshPolicy, refreshPolicy } from "./refresh-policy.ts";
import { RefreshSchedule } from "./refresh-schedule.ts";
import { type ServedState, servedState } from "./served-state.ts";
import type { OnTransferEvent } from "./transfer-events.ts";
import type { TransferSource } from "./transfer-state.ts";

/** Keeps work going that nobody waits for, as `waitUntil` of a Worker does. The work never rejects. */
export type Background = (work: Promise<void>) => void;

/** What a secondary is put together from. */
export interface SecondaryOptions {
  readonly source: TransferSource;
  readonly stages: PartialStages<Generation>;
  /** Holds segments that queries needed; several secondaries may share it. Default: all segments are in memory. */
  readonly cache?: SegmentCache<AnySegment> | undefined;
  /** The scope that the source gives generations of; its view is that of the client. Default: everything. */
  readonly scope?: Visibility;
  readonly policy?: Partial<RefreshPolicy>;
  /** Where `freshen` is given none. Default: work just goes on, as it does in a process that lives. */
  readonly background?: Background;
  readonly onEvent?: OnTransferEvent;
  /** Default: the host's, whose timers keep the process alive: each of them ends when what it bounds does. */
  readonly clock?: Clock;
  /** At least 0, below 1. */
  readonly random?: () => number;
}

/** Pauses of a query that waits for what another one requested, in milliseconds: they double. */
const FIRST_PAUSE = 5;
const LONGEST_PAUSE = 80;

/**
 * Answers from generations that another place compiles. The newest good one is in memory, whole or as far as queries need it; queries are
 * answered from it at once, and `freshen` sees to a newer one. What it answers without saying that it is stale was served by the primary at most
 * `limit` ago (`RefreshPolicy` has the arithmetic).
 *
 *     const fresh = secondary.freshen(Date.now(), (work) => context.waitUntil(work));
 *     if (fresh !== undefined) await fresh;
 *     const answer = await secondary.answer(query, view, Date.now());
 */
export class Secondary implements DohGateway {
  readonly #stages: PartialStages<Generation>;
  readonly #view: string | undefined;
  readonly #policy: RefreshPolicy;
  readonly #background: Background;
  readonly #onEvent: OnTransferEvent;
  readonly #clock: Clock;
  readonly #schedule: RefreshSchedule;
  readonly #generations: GenerationKeeper;
  readonly #missing: MissingSegments;
  readonly #fetchParts: FetchParts;
  #served: ServedState | undefined;
  #error: string | undefined;
  #saidStale = false;
  /** When the primary acknowledged a change that what is here may lack. */
  #changedAt: number | undefined;

  /** @throws {RangeError} for a policy whose times do not go together */
  constructor(options: SecondaryOptions) {
    const { source, stages, clock = waitingClock, random = Math.random } = options;
    this.#stages = stages;
    this.#view = options.scope?.view;
    this.#policy = refreshPolicy(options.policy);
    this.#background = options.background ?? (() => {});
    this.#onEvent = options.onEvent ?? (() => {});
    this.#clock = clock;
    this.#schedule = new RefreshSchedule(this.#policy, random);
    this.#generations = new GenerationKeeper(source, this.#onEvent, options.cache);
    this.#missing = new MissingSegments(this.#generations, clock, this.#policy.partTimeout, this.#onEvent);
    this.#fetchParts = { source, generations: this.#generations, policy: this.#policy, clock };
  }

  /**
   * To be called before each query is answered; it is cheap. Starts a refresh where one is due.
   * @param now Unix milliseconds
   * @param background takes work that outlives this query; belongs to the request that the query came with
   * @returns a promise to await before answering, where what is here is too old. It never rejects.
   */
  freshen(now: number, background: Background = this.#background): Promise<void> | undefined {
    const schedule = this.#schedule;
    if (schedule.isYoung(now) && this.#changedAt === undefined) return undefined;
    if (this.#isWanting(now)) {
      if (schedule.isBackingOff(now)) return undefined;
      const wait = this.#served === undefined ? this.#policy.firstWait : this.#policy.wait;
      return this.#untilFresh(this.#clock.now() + wait, background);
    }
    if (schedule.mayAsk(now, false)) background(this.#refresh());
    return undefined;
  }

  /** To be called after a change that the primary acknowledged: the next query waits for a state that has it. @param now Unix milliseconds */
  expire(now: number): void {
    this.#changedAt = now;
  }

  answer(
    query: Uint8Array,
    given: string | undefined,
    now: number,
    transport?: Transport,
  ): Answer | undefined | Promise<Answer | undefined> {
    const asked = { view: this.#view ?? given, transport };
    const answer = this.#resolve(query, asked, now);
    return answer !== undefined && "missing" in answer
      ? this.#answerLater(query.slice(), asked, answer)
      : answer;
  }

  #resolve(query: Uint8Array, asked: QueryContext, now: number): Answer | Missing | undefined {
    const served = this.#served;
    if (served?.generation === undefined) return this.#stages.notReady(query, asked);
    const stale = this.#schedule.isStale(now);
    if (stale !== this.#saidStale) this.#sayStale(stale);
    const { generation, leases } = served;
    const isBehind = served.state.status.behindSince !== undefined;
    return this.#stages.resolveOrMiss(query, {
      ...asked,
      generation,
      leases,
      now,
      stale: stale || isBehind,
    });
  }

  /** Answers a query once what it needs is in memory; SERVFAIL where that cannot be had. */
  async #answerLater(query: Uint8Array, asked: QueryContext, first: Missing): Promise<Answer | undefined> {
    const resolve = () => this.#resolve(query, asked, this.#clock.now());
    const answer = await this.#missing.answer(first, resolve, () => this.#replaced());
    return answer ?? this.#stages.notReady(query, asked);
  }

  /** Waits for the generation that the primary serves in place of this one. */
  async #replaced(): Promise<void> {
    const now = this.#clock.now();
    this.expire(now);
    await this.freshen(now);
  }

  hasCluster(clusterId: string): boolean {
    if ((this.#view ?? clusterId) !== clusterId) return false;
    // As long as nothing is known, nothing is denied: the answer is SERVFAIL.
    return this.#served?.clusters.has(clusterId) ?? true;
  }

  /** What is answered from, while there is something. */
  get generation(): Generation | undefined {
    return this.#served?.generation;
  }

  /** What is answered from, for lists of services. */
  get listed(): { readonly generation: Generation; readonly complete?: () => Promise<boolean> } | undefined {
    const { generation } = this;
    if (generation === undefined || !this.#generations.isPartial) return generation && { generation };
    return { generation, complete: () => this.#missing.bringNames(generation) };
  }

  status(): ServingStatus {
    const error = this.#error === undefined ? {} : { transferError: this.#error };
    const served = this.#served;
    if (served === undefined)
      return { ready: false, rootHash: undefined, generationBytes: 0, services: 0, clusters: [], ...error };
    const stale = this.#schedule.isStale(this.#clock.now()) ? { staleSince: served.asOf } : {};
    return { ...served.state.status, ...stale, ...error };
  }

  /**
   * Whether a query does better to wait for the newest state: what is here is too old, is older than a change that somebody
   * here knows of, or leaves nothing to answer.
   */
  #isWanting(now: number): boolean {
    const schedule = this.#schedule;
    if (schedule.isStale(now) || this.#changedAt !== undefined) return true;
    return this.#served?.generation === undefined && !schedule.isYoung(now);
  }

  /** Refreshes, or waits for a refresh that is in flight. */
  async #untilFresh(deadline: number, background: Background): Promise<void> {
    const schedule = this.#schedule;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      const now = this.#clock.now();
      const left = deadline - now;
      if (left <= 0 || !this.#isWanting(now) || schedule.isBackingOff(now)) return;
      if (schedule.mayAsk(now, true)) {
        const refresh = this.#refresh();
        background(refresh);
        return sleep(this.#clock, left, refresh);
      }
      await sleep(this.#clock, Math.min(pause, left));
    }
  }

  async #refresh(): Promise<void> {
    const begun = this.#clock.now();
    const attempt = this.#schedule.begin(begun);
    // What several secondaries share has to be newer than what is here.
    const changedAt = this.#changedAt;
    const newerThan = changedAt ?? this.#schedule.asOf;
    const maximumAge = Math.min(this.#policy.refresh, Math.abs(begun - newerThan) - 1);
    try {
      const newest = await fetchNewest(this.#fetchParts, attempt, Math.max(0, maximumAge));
      const now = this.#clock.now();
      if (!this.#schedule.isNews(newest.asOf, now)) return this.#schedule.end(attempt);
      this.#take(newest, begun, now);
      this.#schedule.succeeded(attempt, newest.asOf);
      if (this.#changedAt === changedAt) this.#changedAt = undefined;
    } catch (error) {
      const retryIn = this.#schedule.failed(attempt, this.#clock.now());
      // Without one, somebody who lost patience with this attempt is asking already.
      if (retryIn !== undefined) this.#failed(error, retryIn);
    }
  }

  #take({ state, asOf, fetched }: Newest, begun: number, now: number): void {
    const generation = fetched && this.#generations.take(fetched, begun, now);
    this.#served = servedState(state, asOf, generation);
    this.#error = undefined;
  }

  #failed(error: unknown, retryIn: number): void {
    this.#error = error instanceof Error ? error.message : String(error);
    this.#onEvent({ event: "transfer-failed", error, retryIn });
  }

  #sayStale(stale: boolean): void {
    this.#saidStale = stale;
    this.#onEvent(stale ? { event: "stale", since: this.#schedule.asOf } : { event: "fresh-again" });
  }
}
