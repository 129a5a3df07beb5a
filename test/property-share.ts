import { expect } from "vitest";

/**
 * The share of the runs that a property names which it has (`PROPERTY_RUNS`): a fifth while one works, all of
 * them in CI, ten times as many in a soak.
 */
export const RUNS_SHARE = Number(process.env.PROPERTY_RUNS ?? 0.2);

/**
 * A property that seldom met what it is about would show little. Chance decides how often that is, so half of
 * the usual number is enough, and only with all runs.
 */
export function expectMet(count: number, usual: number): void {
  if (RUNS_SHARE >= 1) expect(count).toBeGreaterThanOrEqual(usual / 2);
}
