/** Whether a request was admitted; if not, whether it has no credential or an unknown one. */
type AccessOutcome = "admitted" | "missing" | "unknown";

/** One series of the counter of admissions. */
interface AccessCount {
  /** The rule that admitted the client; empty if none did. */
  readonly rule: string;
  readonly outcome: AccessOutcome;
  readonly count: number;
}

/** Counts admissions by rule. Rules are configured, so clients cannot add series. */
export class AccessCounters {
  readonly #counts = new Map<string, { rule: string; outcome: AccessOutcome; count: number }>();

  admitted(rule: string): void {
    this.#count(rule, rule, "admitted");
  }

  rejected(outcome: "missing" | "unknown"): void {
    // No rule's name starts like this.
    this.#count(` ${outcome}`, "", outcome);
  }

  /** The series with at least one count. */
  counts(): Iterable<AccessCount> {
    return this.#counts.values();
  }

  #count(key: string, rule: string, outcome: AccessOutcome): void {
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { rule, outcome, count: 1 });
    else counted.count++;
  }
}
