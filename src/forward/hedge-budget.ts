/** One of so many questions may be hedged over time. */
const QUESTIONS_PER_HEDGE = 5;
/** Hedges that may be spent at once. */
const MOST_HEDGES = 100;

/** Bounds hedging: a name server that is slow for everybody must not double the load on the next one. */
export class HedgeBudget {
  /** In questions. */
  #saved = MOST_HEDGES * QUESTIONS_PER_HEDGE;

  /** Counts one question. */
  earn(): void {
    this.#saved = Math.min(MOST_HEDGES * QUESTIONS_PER_HEDGE, this.#saved + 1);
  }

  /** Whether a question may go to one more name server; counts it. */
  spend(): boolean {
    if (this.#saved < QUESTIONS_PER_HEDGE) return false;
    this.#saved -= QUESTIONS_PER_HEDGE;
    return true;
  }
}
