import { expect, test } from "vitest";
import { Budget } from "../../src/worker/pacing.ts";

test("a budget allows its burst at once, then one per interval, and refills up to its burst", () => {
  const budget = new Budget({ perSecond: 10, burst: 3 });
  const spend = (now: number) => {
    const wait = budget.wait(now);
    if (wait === 0) budget.spend(now);
    return wait;
  };
  expect([5000, 5000, 5000, 5000].map(spend)).toEqual([0, 0, 0, 100]);
  expect([5099, 5100, 5100].map(spend)).toEqual([1, 0, 100]);
  expect([9000, 9000, 9000, 9000].map(spend)).toEqual([0, 0, 0, 100]);
});
