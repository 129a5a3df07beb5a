/** Hedges that may be spent at once, and the share of questions that may be hedged over time. */
const MOST_SAVED = 100;
const SHARE = 0.2;

/** Bounds hedging: a name server that is slow for everybody must not double the load on the next one. */
export class HedgeBudget {
  #saved = MOST_SAVED;

  /** Counts one question. */
  earn(): void {
    this.#saved = Math.min(MOST_SAVED, this.#saved + SHARE);
  }

  /** Whether a question may go to one more name server; counts it. */
  spend(): boolean {
    if (this.#saved < 1) return false;
    this.#saved--;
    return true;
  }
}
