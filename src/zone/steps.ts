/** Long work in steps: other work has its turn between two of them (`gateway/clock.ts`, `Turns`). */
export type Steps<Result = void> = Generator<void, Result>;

/** Items of one step: what a step takes is some 0.1 ms. */
export const ITEMS_AT_ONCE = 64;

/** Takes all steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
