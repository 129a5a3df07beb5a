/** Whether a request was let in; if not, whether it shows nothing, or something that is not known. */
export type AccessOutcome = "admitted" | "missing" | "unknown";

/** One series of the counter of admissions. */
export interface AccessCount {
  /** The rule that let the client in; empty where none did. */
  readonly rule: string;
  readonly outcome: AccessOutcome;
  readonly count: number;
}

/** Counts admissions by rule. Rules are configured, so strangers cannot add series. */
export class AccessCounters {
  readonly #counts = new Map<string, { rule: string; outcome: AccessOutcome; count: number }>();

  admitted(rule: string): void {
    this.#count(rule, rule, "admitted");
  }

  rejected(outcome: "missing" | "unknown"): void {
    // No rule's name begins so.
    this.#count(` ${outcome}`, "", outcome);
  }

  /** The series that have counted anything. */
  counts(): Iterable<AccessCount> {
    return this.#counts.values();
  }

  #count(key: string, rule: string, outcome: AccessOutcome): void {
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { rule, outcome, count: 1 });
    else counted.count++;
  }
}
