import { expect, test } from "vitest";
import { Budget, NextTurn } from "../../src/worker/pacing.ts";

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

test("calls in one turn of the event loop cause one action in the next", async () => {
  let actions = 0;
  const turn = new NextTurn(() => actions++);
  turn.call();
  turn.call();
  expect(actions).toBe(0);
  await new Promise(setImmediate);
  expect(actions).toBe(1);
  turn.call();
  turn.stop();
  await new Promise(setImmediate);
  expect(actions).toBe(1);
});
