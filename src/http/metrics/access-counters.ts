/** How it ended that somebody asked: let in, by nothing shown, by something that is not known. */
export type AccessOutcome = "admitted" | "missing" | "unknown";

/** One series of the counter of who asks. */
export interface AccessCount {
  /** The rule that let them in, `public` for everybody's; empty for who was not let in. */
  readonly rule: string;
  readonly outcome: AccessOutcome;
  readonly count: number;
}

/** Counts who asks, by rule. Rules are configured, so strangers cannot add series. */
export class AccessCounters {
  readonly #counts = new Map<string, { rule: string; outcome: AccessOutcome; count: number }>();

  admitted(rule: string): void {
    this.#count(rule, "admitted");
  }

  refused(outcome: "missing" | "unknown"): void {
    this.#count("", outcome);
  }

  counts(): Iterable<AccessCount> {
    return this.#counts.values();
  }

  #count(rule: string, outcome: AccessOutcome): void {
    const key = `${outcome} ${rule}`;
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { rule, outcome, count: 1 });
    else counted.count++;
  }
}
