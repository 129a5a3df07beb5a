import { setImmediate } from "node:timers/promises";

/** Bytes that are read, parsed or encoded in one turn: about a millisecond where each line has an endpoint. */
export const TURN_BYTES = 16_384;

/** How long other work may have to wait, in milliseconds. */
const TURN_MILLISECONDS = 1;

/** Runs steps in turns with other work, so that queries are answered in between. */
export async function inTurns<Result>(steps: Generator<void, Result>): Promise<Result> {
  let started = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() - started < TURN_MILLISECONDS) continue;
    await setImmediate();
    started = performance.now();
  }
}
