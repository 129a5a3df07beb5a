/** For vitest's `setupFiles`: gives each property its share of runs. */
import { vi } from "vitest";
import { RUNS_SHARE } from "./property-share.ts";

const FEWEST = 3;

vi.mock("fast-check", async (importOriginal) => {
  const original = await importOriginal<typeof import("fast-check")>();
  const assert: typeof original.assert = (property, parameters) =>
    original.assert(property, {
      ...parameters,
      numRuns: Math.max(FEWEST, Math.ceil((parameters?.numRuns ?? 100) * RUNS_SHARE)),
    } as typeof parameters) as never;
  return { ...original, assert, default: { ...original.default, assert } };
});
