import fc from "fast-check";
import { vi } from "vitest";

/**
 * A property has a tenth of its runs in `npm test`, within these bounds. With all runs it takes most of a
 * survivor's time.
 */
const FEWEST = 3;
const MOST = 20;

// Any counterexample kills a mutant, so shrinking is useless. One seed makes the covered mutants the same in
// each run.
fc.configureGlobal({ seed: 1, endOnFailure: true });

vi.mock("fast-check", async (importOriginal) => {
  const original = await importOriginal<typeof import("fast-check")>();
  const assert: typeof fc.assert = (property, parameters) =>
    original.assert(property, {
      ...parameters,
      numRuns: Math.min(MOST, Math.max(FEWEST, Math.ceil((parameters?.numRuns ?? 100) / 10))),
    } as typeof parameters) as never;
  return { ...original, assert, default: { ...original.default, assert } };
});
