import type { Clock } from "./clock.ts";

/** How long queries may have to wait for one slice, in milliseconds. */
const SLICE_MILLISECONDS = 4;
/** Steps of a slice at most: in a Worker the clock stands still while it computes. */
const MOST_STEPS = 256;

/** Runs steps in slices, so that queries are answered in between. The first slice runs at once: what is done within it needs no turn. */
export async function inSlices<Result>(clock: Clock, steps: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const startedAt = clock.now();
    for (let count = 0; count < MOST_STEPS; count++) {
      const step = steps.next();
      if (step.done) return step.value;
      if (Math.abs(clock.now() - startedAt) >= SLICE_MILLISECONDS) break;
    }
    await new Promise<void>((resolve) => {
      if (clock.nextTurn === undefined) clock.setTimer(0, resolve);
      else clock.nextTurn(resolve);
    });
  }
}
