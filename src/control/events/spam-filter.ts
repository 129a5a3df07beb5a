import { Budget, type BudgetLimits } from "../../sync/pacing.ts";

/** Events about one object: as client-go allows them, so that one that changes all the time leaves room for others. */
export const SPAM_LIMITS: BudgetLimits = { perSecond: 1 / 300, burst: 25 };
/** Objects whose budget is remembered: those with the newest Events. */
const MOST_OBJECTS = 4096;

/** Bounds the Events about each object. */
export class SpamFilter {
  readonly #budgets = new Map<string, Budget>();

  /** Whether one more Event about the object is within its bounds. @param now milliseconds of a monotonic clock */
  admits(object: string, now: number): boolean {
    const budget = this.#budgets.get(object) ?? new Budget(SPAM_LIMITS);
    this.#budgets.delete(object);
    this.#budgets.set(object, budget);
    if (this.#budgets.size > MOST_OBJECTS) this.#budgets.delete(this.#budgets.keys().next().value!);
    if (budget.wait(now) > 0) return false;
    budget.spend(now);
    return true;
  }
}
