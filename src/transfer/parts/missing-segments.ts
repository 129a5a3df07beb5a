import type { Clock } from "../../gateway/clock.ts";
import type { Answer, Missing } from "../../resolve/answer.ts";
import type { Branch } from "../../zone/generation/directory.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import { sleep, within } from "../deadline.ts";
import type { GenerationKeeper } from "../generation-keeper.ts";
import type { OnTransferEvent } from "../transfer-events.ts";
import type { AnySegment } from "./any-segment.ts";
import { eachOf } from "./each-of.ts";

/** Segments that one query may wait for: those of a CNAME chain, and the pages above them. */
const MOST_SEGMENTS = 20;
/** Segments that a list may need. */
const MOST_LISTED = 128;
/** Segments that are fetched for a list at the same time. */
const PARALLEL = 6;
/** How often a query finds that a segment it needs was replaced. */
const MOST_GONE = 3;
/** How long a query counts on another one that fetches the same segment, in milliseconds. */
const PATIENCE = 400;
/** Pauses of one that waits, in milliseconds: they double. */
const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 50;
/** Notes of requests that never ended are forgotten when there are so many. */
const MOST_NOTES = 1000;

/**
 * Brings segments into memory that queries need. One query fetches a segment, the others look for it in memory: a promise of another request
 * must not be awaited in Workers (refresh-schedule.ts), so a note with a time says that a fetch is under way.
 */
export class MissingSegments {
  readonly #generations: GenerationKeeper;
  readonly #clock: Clock;
  readonly #timeout: number;
  readonly #onEvent: OnTransferEvent;
  readonly #asked = new Map<string, number>();

  /** @param timeout of one fetch in milliseconds */
  constructor(generations: GenerationKeeper, clock: Clock, timeout: number, onEvent: OnTransferEvent) {
    this.#generations = generations;
    this.#clock = clock;
    this.#timeout = timeout;
    this.#onEvent = onEvent;
  }

  /**
   * Answers a query that needs segments which are not in memory.
   * @param resolve answers from what is in memory now
   * @param replaced waits for the generation that the primary serves in place of this one
   * @returns undefined where a segment cannot be had
   */
  async answer(
    first: Missing,
    resolve: () => Answer | Missing | undefined,
    replaced: () => Promise<void>,
  ): Promise<Answer | undefined> {
    let { missing } = first;
    let gone = 0;
    try {
      for (let tries = 0; tries < MOST_SEGMENTS; tries++) {
        if (!(await this.#bring(missing))) {
          if (++gone === MOST_GONE) throw new Error("the primary does not serve the segment any more");
          await replaced();
        }
        const answer = resolve();
        if (answer === undefined || !("missing" in answer)) return answer;
        missing = answer.missing;
      }
      throw new Error(`a query needs more than ${MOST_SEGMENTS} segments`);
    } catch (error) {
      this.#onEvent({ event: "segment-unavailable", hash: missing.hash, error });
      return undefined;
    }
  }

  /**
   * Brings all segments of names into memory, for lists.
   * @returns false where there are too many, or one cannot be had
   */
  async bringNames({ names }: Generation): Promise<boolean> {
    const branches = names.entries.map(({ branch }) => branch);
    if (branches.length > MOST_LISTED || branches.some(({ kind }) => kind === "page")) return false;
    const lacking = branches.filter((branch) => !this.#generations.has(branch));
    try {
      await eachOf(lacking, PARALLEL, async (branch) => void (await this.#bring(branch)));
    } catch (error) {
      this.#onEvent({ event: "segment-unavailable", hash: names.hash, error });
    }
    return branches.every((branch) => this.#generations.has(branch));
  }

  /**
   * @returns whether it may be there: then look again; false where the primary serves another generation by now
   * @throws {Error} where it cannot be had
   */
  async #bring(branch: Branch<AnySegment>): Promise<boolean> {
    const { hash } = branch;
    for (let pause = FIRST_PAUSE; this.#isAsked(hash); pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      await sleep(this.#clock, pause);
      if (this.#generations.has(branch)) return true;
    }
    if (this.#asked.size >= MOST_NOTES) this.#asked.clear();
    this.#asked.set(hash, this.#clock.now());
    try {
      return await this.#generations.bring(branch, (late, run) =>
        within(this.#clock, this.#timeout, late, run),
      );
    } finally {
      this.#asked.delete(hash);
    }
  }

  #isAsked(hash: string): boolean {
    const at = this.#asked.get(hash);
    return at !== undefined && Math.abs(this.#clock.now() - at) < PATIENCE;
  }
}
