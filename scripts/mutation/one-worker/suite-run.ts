import { type RunnerTask, type RunnerTestCase, type RunnerTestSuite, TestRunner, vi } from "vitest";

type Hook = (...args: unknown[]) => unknown;

/** All tests below a file or a suite, in order. */
export function testsIn(suite: RunnerTestSuite): RunnerTestCase[] {
  return suite.tasks.flatMap((task: RunnerTask) => {
    if (task.type === "suite") return testsIn(task);
    return task.mode === "skip" || task.mode === "todo" ? [] : [task];
  });
}

/** The titles of the suites around a test and its own; the outermost suite is named by the test's file. */
export function idOf(test: RunnerTestCase): string {
  const [file = "", ...titles] = [...suitesOf(test).map(({ name }) => name), test.name];
  return `${file}#${titles.join(" ")}`;
}

/** Runs tests one after the other, with the hooks of their suites: those for all tests once. */
export class SuiteRun {
  readonly #begun: RunnerTestSuite[] = [];

  /**
   * Runs a test.
   * @param onRunning called when the test's own hooks and its function begin, and when they end.
   * @param run runs the test's function.
   * @returns the message of its error, or undefined.
   */
  async runTest(
    test: RunnerTestCase,
    onRunning: (running: boolean) => void,
    run: (testFunction: Hook) => unknown,
  ): Promise<string | undefined> {
    const suites = [test.file, ...suitesOf(test)];
    const cleanUps: Hook[] = [];
    let failure: string | undefined;
    const attempt = async (step: () => unknown) => {
      try {
        await step();
      } catch (error) {
        failure ??= String((error as Error)?.message ?? error) || "an error without message";
      }
    };
    for (const suite of suites) if (failure === undefined) await attempt(() => this.#begin(suite));
    onRunning(true);
    for (const suite of failure === undefined ? suites : []) {
      for (const hook of hooksOf(suite, "beforeEach")) {
        await attempt(async () => {
          const cleanUp = await hook(test.context, suite);
          if (typeof cleanUp === "function") cleanUps.push(cleanUp as Hook);
        });
      }
    }
    if (failure === undefined) await attempt(() => run(TestRunner.getTestFn(test) as Hook));
    for (const suite of suites.toReversed()) {
      for (const hook of hooksOf(suite, "afterEach").toReversed())
        await attempt(() => hook(test.context, suite));
    }
    for (const cleanUp of cleanUps.reverse()) await attempt(() => cleanUp());
    onRunning(false);
    vi.restoreAllMocks();
    return failure;
  }

  /** Runs the hooks after all tests. */
  async end(): Promise<void> {
    for (const suite of this.#begun.reverse()) {
      for (const hook of hooksOf(suite, "afterAll").toReversed()) await hook({}, suite);
    }
  }

  async #begin(suite: RunnerTestSuite): Promise<void> {
    if (this.#begun.includes(suite)) return;
    this.#begun.push(suite);
    for (const hook of hooksOf(suite, "beforeAll")) await hook({}, suite);
  }
}

function suitesOf(test: RunnerTestCase): RunnerTestSuite[] {
  const suites: RunnerTestSuite[] = [];
  for (let { suite } = test; suite !== undefined; suite = suite.suite as never) suites.unshift(suite);
  return suites;
}

function hooksOf(
  suite: RunnerTestSuite,
  name: "beforeAll" | "beforeEach" | "afterEach" | "afterAll",
): Hook[] {
  return TestRunner.getSuiteHooks(suite)[name] as Hook[];
}
