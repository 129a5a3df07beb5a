/**
 * For vitest's `setupFiles`: gives each property its share of runs, and the seed that is asked for
 * (`PROPERTY_SEED`; CI has one, so that it says the same of the same commit).
 */
import { vi } from "vitest";
import { RUNS_SHARE } from "./property-share.ts";

const FEWEST = 3;
const SEED = process.env.PROPERTY_SEED;

vi.mock("fast-check", async (importOriginal) => {
  const original = await importOriginal<typeof import("fast-check")>();
  const assert: typeof original.assert = (property, parameters) =>
    original.assert(property, {
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
      ...parameters,
      numRuns: Math.max(FEWEST, Math.ceil((parameters?.numRuns ?? 100) * RUNS_SHARE)),
    } as typeof parameters) as never;
  return { ...original, assert, default: { ...original.default, assert } };
});
