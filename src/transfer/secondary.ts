import { type Clock, systemClock } from "../gateway/clock.ts";
import type { DohGateway } from "../gateway/doh-gateway.ts";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import type { GatewayStages } from "../gateway/stages.ts";
import type { Answer } from "../resolve/answer.ts";
import type { ZoneImage } from "../zone/image.ts";
import { sleep, within } from "./deadline.ts";
import { ImageKeeper } from "./image-keeper.ts";
import { type RefreshPolicy, refreshPolicy } from "./refresh-policy.ts";
import { type Attempt, RefreshSchedule } from "./refresh-schedule.ts";
import { TakenOver } from "./taken-over.ts";
import type { OnTransferEvent } from "./transfer-events.ts";
import type { TransferSource, TransferState } from "./transfer-state.ts";

/** Keeps work going that nobody waits for, as `waitUntil` of a Worker does. It never rejects. */
export type Background = (work: Promise<void>) => void;

/** What a secondary is put together from. */
export interface SecondaryOptions {
  readonly source: TransferSource;
  readonly stages: Pick<GatewayStages<ZoneImage>, "resolve" | "notReady">;
  readonly policy?: Partial<RefreshPolicy>;
  /** Where `freshen` is given none. Default: work just goes on, as in a process that lives. */
  readonly background?: Background;
  readonly onEvent?: OnTransferEvent;
  readonly clock?: Clock;
  /** At least 0, below 1. */
  readonly random?: () => number;
}

/** Pauses of one who waits for what another one asked for, in milliseconds: they double. */
const FIRST_PAUSE = 5;
const LONGEST_PAUSE = 80;
/** How often a state is asked for again whose image is gone already. */
const MOST_TRIES = 3;

/**
 * Answers from images that another place compiles. The newest good one is in memory; queries are answered from it at once, and
 * `freshen` sees to a newer one. What it answers without saying that it is stale was true at the primary at most
 * `limit` ago (`RefreshPolicy` has the arithmetic).
 *
 *     await secondary.freshen(now, (work) => context.waitUntil(work));   // undefined nearly always
 *     const answer = secondary.answer(query, view, Date.now());
 */
export class Secondary implements DohGateway {
  readonly #source: TransferSource;
  readonly #stages: Pick<GatewayStages<ZoneImage>, "resolve" | "notReady">;
  readonly #policy: RefreshPolicy;
  readonly #background: Background;
  readonly #onEvent: OnTransferEvent;
  readonly #clock: Clock;
  readonly #schedule: RefreshSchedule;
  readonly #images: ImageKeeper;
  #served: TakenOver | undefined;
  #error: string | undefined;
  #saidStale = false;

  /** @throws {RangeError} for a policy whose times do not go together */
  constructor(options: SecondaryOptions) {
    this.#source = options.source;
    this.#stages = options.stages;
    this.#policy = refreshPolicy(options.policy);
    this.#background = options.background ?? (() => {});
    this.#onEvent = options.onEvent ?? (() => {});
    this.#clock = options.clock ?? systemClock;
    this.#schedule = new RefreshSchedule(this.#policy, options.random ?? Math.random);
    this.#images = new ImageKeeper(this.#source, this.#onEvent);
  }

  /**
   * To be called before each query is answered; cheap. Starts a refresh where it is due.
   * @param now Unix milliseconds
   * @param background takes the work that goes on after this query; of the request that this query came with
   * @returns a promise to await before answering, where what is here is too old. It never rejects.
   */
  freshen(now: number, background: Background = this.#background): Promise<void> | undefined {
    if (this.#images.isUnchecked && !this.#images.checkSlice()) this.#giveUp(now);
    const schedule = this.#schedule;
    if (schedule.isYoung(now)) return undefined;
    if (schedule.isStale(now)) {
      if (schedule.isBackingOff(now)) return undefined;
      const wait = this.#served === undefined ? this.#policy.firstWait : this.#policy.wait;
      return this.#untilFresh(this.#clock.now() + wait, background);
    }
    if (schedule.mayAsk(now, false)) background(this.#refresh());
    return undefined;
  }

  answer(query: Uint8Array, view: string | undefined, now: number): Answer | undefined {
    const served = this.#served;
    if (served?.image === undefined) return this.#stages.notReady(query);
    const stale = this.#schedule.isStale(now);
    if (stale !== this.#saidStale) this.#sayStale(stale);
    const { image, leaseExpiry } = served;
    return this.#stages.resolve(query, { image, leaseExpiry, view, now, stale });
  }

  hasCluster(clusterId: string): boolean {
    return this.#served?.clusters.has(clusterId) ?? false;
  }

  status(): ServingStatus {
    const error = this.#error === undefined ? {} : { transferError: this.#error };
    const served = this.#served;
    if (served === undefined)
      return { ready: false, imageHash: undefined, imageBytes: 0, services: 0, clusters: [], ...error };
    const { state, asOf } = served;
    return {
      ...state.status,
      ...(this.#schedule.isStale(this.#clock.now()) && { staleSince: asOf }),
      ...error,
    };
  }

  /** Waits for what another one asks for, or asks. */
  async #untilFresh(deadline: number, background: Background): Promise<void> {
    const schedule = this.#schedule;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      const now = this.#clock.now();
      const left = deadline - now;
      if (left <= 0 || !schedule.isStale(now) || schedule.isBackingOff(now)) return;
      if (schedule.mayAsk(now, true)) {
        const refresh = this.#refresh();
        background(refresh);
        return sleep(this.#clock, left, refresh);
      }
      await sleep(this.#clock, Math.min(pause, left));
    }
  }

  async #refresh(): Promise<void> {
    const attempt = this.#schedule.begin(this.#clock.now());
    try {
      await this.#takeOver(attempt);
      this.#error = undefined;
    } catch (error) {
      this.#failed(error, this.#schedule.failed(attempt, this.#clock.now()));
    }
  }

  /** Takes over the newest state with its image. @throws {Error} where that fails */
  async #takeOver(attempt: Attempt): Promise<void> {
    const begun = this.#clock.now();
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const asked = this.#clock.now();
      // A state that a source kept named an image that is gone: the next one has to come from the primary.
      const maximumAge = tries === 1 ? this.#policy.refresh : 0;
      const state = await this.#stateOf(maximumAge);
      // By this clock, and no later than the primary can have said it, however its own clock goes.
      const asOf = Math.min(asked, Math.max(asked - maximumAge, state.at));
      const { ready, imageHash } = state.status;
      if (!ready) return this.#take(attempt, begun, new TakenOver(state, asOf, undefined));
      if (imageHash === undefined) throw new Error("the primary says that it is ready, but names no image");
      this.#schedule.fetching(attempt, this.#clock.now());
      const image = await this.#imageOf(imageHash);
      if (image !== undefined) return this.#take(attempt, begun, new TakenOver(state, asOf, image));
    }
    throw new Error("the primary's image was another one each time it was asked for");
  }

  #stateOf(maximumAge: number): Promise<TransferState> {
    return within(this.#clock, this.#policy.stateTimeout, "the primary did not say its state", (signal) =>
      this.#source.state(maximumAge, signal),
    );
  }

  #imageOf(contentHash: string): Promise<ZoneImage | undefined> {
    return within(this.#clock, this.#policy.imageTimeout, "the image was not transferred", (signal) =>
      this.#images.fetch(contentHash, this.#clock.now(), signal),
    );
  }

  #take(attempt: Attempt, begun: number, taken: TakenOver): void {
    const now = this.#clock.now();
    if (!this.#schedule.succeeded(attempt, taken.asOf, now)) return;
    this.#served = taken;
    const { image } = taken;
    if (image === undefined || !this.#images.keep(image)) return;
    const { contentHash, bytes } = image;
    this.#onEvent({ event: "transferred", contentHash, bytes: bytes.length, milliseconds: now - begun });
  }

  #failed(error: unknown, retryIn: number | undefined): void {
    // Somebody who lost patience with this attempt is asking already.
    if (retryIn === undefined) return;
    this.#error = error instanceof Error ? error.message : String(error);
    this.#onEvent({ event: "transfer-failed", error, retryIn });
  }

  /** The only image that there was turned out to be torn. */
  #giveUp(now: number): void {
    this.#served = undefined;
    this.#failed(new Error("the first image was torn"), this.#schedule.forget(now));
  }

  #sayStale(stale: boolean): void {
    this.#saidStale = stale;
    this.#onEvent(stale ? { event: "stale", since: this.#schedule.asOf } : { event: "fresh-again" });
  }
}
