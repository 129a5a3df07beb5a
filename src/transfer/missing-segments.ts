import type { Clock } from "../gateway/clock.ts";
import type { Branch } from "../zone/generation/directory.ts";
import { sleep, within } from "./deadline.ts";
import type { GenerationKeeper } from "./generation-keeper.ts";
import type { AnySegment } from "./parts/any-segment.ts";

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
  readonly #asked = new Map<string, number>();

  /** @param timeout of one fetch in milliseconds */
  constructor(generations: GenerationKeeper, clock: Clock, timeout: number) {
    this.#generations = generations;
    this.#clock = clock;
    this.#timeout = timeout;
  }

  /**
   * @returns whether it may be there: then look again; false where the primary serves another generation by now
   * @throws {Error} where it cannot be had
   */
  async bring(branch: Branch<AnySegment>): Promise<boolean> {
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
