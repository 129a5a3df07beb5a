/**
 * Long work in steps: other work has its turn between two of them (`gateway/clock.ts`, `Turns`). A step may
 * end with something to wait for, which does not fail.
 */
export type Steps<Result = void> = Generator<void | Promise<void>, Result>;

/** Items of one step, which takes some 0.1 ms. */
export const ITEMS_AT_ONCE = 64;

/** Whether a step ends before an item, by its index. */
export function endsStep(index: number): boolean {
  return index % ITEMS_AT_ONCE === ITEMS_AT_ONCE - 1;
}

/** Takes all steps at once. @throws {Error} if there is something to wait for */
export function finish<Result>(steps: Steps<Result>): Result {
  return finishWithin(steps, { steps: Number.POSITIVE_INFINITY })!;
}

/** Steps that may be taken at once. */
export interface StepBudget {
  steps: number;
}

/**
 * Takes all steps at once, from a budget; undefined where there are more.
 * @throws {Error} if there is something to wait for
 */
export function finishWithin<Result>(steps: Steps<Result>, budget: StepBudget): Result | undefined {
  for (; budget.steps > 0; budget.steps--) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value instanceof Promise) throw new Error("a step that waits cannot be taken at once");
  }
  return undefined;
}
