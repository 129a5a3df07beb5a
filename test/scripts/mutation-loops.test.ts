import { expect, it } from "vitest";
import { instrumented } from "../../scripts/mutation/one-worker/instrumented.ts";

function pass(times: number): string | undefined {
  let test: string | undefined;
  for (let left = times; left > 0; left--) test = instrumented.currentTestId;
  return test;
}

it("a mutant loops if a test passes the mutated code far more often than without the mutant", () => {
  instrumented.begin();
  instrumented.currentTestId = "a test";
  expect(pass(2000)).toBe("a test");
  expect(instrumented.passes).toBe(2000);

  instrumented.begin(2000);
  expect(pass(202_000)).toBe("a test");
  expect(instrumented.hasLooped()).toBe(false);
  expect(() => pass(1)).toThrow("the mutant loops");
  expect(instrumented.hasLooped()).toBe(true);

  instrumented.begin(0);
  expect(instrumented.hasLooped()).toBe(false);
  expect(() => pass(100_001)).toThrow("the mutant loops");
});
