import type { CoverageByTest } from "./messages.ts";

/**
 * So many more passes than without the mutant are a loop: a hundred times as many, but within these bounds.
 */
const TIMES = 100;
const LEAST = 100_000;
const MOST = 5_000_000;

/**
 * The state of Stryker's instrumented code. Wherever a mutant could be, the code asks for the test that runs:
 * a pass. Counting passes ends a loop that a mutant causes in code of its folder, wherever that code is,
 * after a number that does not depend on the clock. Stryker itself counts only passes of the mutant, and
 * kills the process of other loops after a time.
 */
class Instrumented {
  /** The instrumented code keeps this object from its first call on: it must stay the same. */
  readonly mutantCoverage: CoverageByTest = { static: {}, perTest: {} };
  activeMutant: string | undefined;
  passes = 0;
  #test: string | undefined;
  #limit = Number.POSITIVE_INFINITY;

  /** The test whose coverage is counted. */
  get currentTestId(): string | undefined {
    if (++this.passes > this.#limit) throw new Error("the mutant loops");
    return this.#test;
  }

  set currentTestId(test: string | undefined) {
    this.#test = test;
  }

  /**
   * Counts the passes from 0. With those of the same test without the mutant, more than a loop's worth of
   * them throw.
   */
  begin(passesBefore?: number): void {
    this.passes = 0;
    this.#limit =
      passesBefore === undefined
        ? Number.POSITIVE_INFINITY
        : passesBefore + Math.min(MOST, Math.max(LEAST, TIMES * passesBefore));
  }

  /** Whether there were too many passes since `begin`. */
  hasLooped(): boolean {
    return this.passes > this.#limit;
  }
}

export const instrumented = new Instrumented();
(globalThis as Record<string, unknown>).__stryker__ = instrumented;
