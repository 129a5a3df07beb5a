import { BroadcastChannel } from "node:worker_threads";
import { describe, inject, it, type RunnerTestCase } from "vitest";
import { CHANNEL, type CoverageByTest, type RanTest, type RunReply, type RunRequest } from "./messages.ts";
import { idOf, SuiteRun, testsIn } from "./suite-run.ts";

/** The state of Stryker's instrumented code. */
interface Instrumented {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number;
  hitLimit?: number | undefined;
  readonly mutantCoverage: CoverageByTest;
}

const TIMED_OUT = /^(?:Error: )?(?:Test|Hook) timed out/;

// The instrumented code keeps this object from its first call on: it must stay the same.
const coverage: CoverageByTest = { static: {}, perTest: {} };
const instrumented: Instrumented = { mutantCoverage: coverage };
(globalThis as Record<string, unknown>).__stryker__ = instrumented;

// The first test never ends: it runs the others, in this worker, as often as there are mutants.
it("runs tests on request", { timeout: Number.POSITIVE_INFINITY }, async ({ task }) => {
  const tests = new Map(testsIn(task.file).map((test) => [idOf(test), test]));
  tests.delete(idOf(task));
  const lasted = new Map<string, number>();
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (event) => {
    run(tests, lasted, event.data as RunRequest).then(
      (reply) => channel.postMessage(reply),
      (error: Error) => channel.postMessage({ error: error.stack ?? error.message }),
    );
  };
  channel.postMessage("loaded");
  await new Promise(() => {});
});

for (const file of inject("files" as never) as readonly string[]) {
  describe(file, async () => {
    await import(/* @vite-ignore */ file);
  });
}

/** Runs the shortest tests first, and ends at the first one that fails if there is a mutant. */
async function run(
  all: ReadonlyMap<string, RunnerTestCase>,
  lasted: Map<string, number>,
  { tests, mutant, hitLimit }: RunRequest,
): Promise<RunReply> {
  const ids = (tests ?? [...all.keys()]).filter((id) => all.has(id));
  if (mutant !== undefined) ids.sort((a, b) => (lasted.get(a) ?? 0) - (lasted.get(b) ?? 0));
  Object.assign(instrumented, { hitCount: 0, hitLimit, activeMutant: mutant });
  const ran: RanTest[] = [];
  const suites = new SuiteRun();
  for (const id of ids) {
    const test = all.get(id) as RunnerTestCase;
    const started = performance.now();
    const failure = await suites.runTest(test, (running) => {
      instrumented.currentTestId = running ? id : undefined;
    });
    const milliseconds = performance.now() - started;
    if (mutant === undefined) lasted.set(id, milliseconds);
    ran.push({
      id,
      file: id.slice(0, id.indexOf("#")),
      milliseconds,
      ...(failure === undefined ? {} : { failure }),
    });
    if (failure !== undefined && mutant !== undefined) break;
  }
  await suites.end();
  instrumented.activeMutant = undefined;
  const hitCount = instrumented.hitCount ?? 0;
  const failed = mutant === undefined ? undefined : ran.find(({ failure }) => failure !== undefined);
  const pending = TIMED_OUT.test(failed?.failure ?? "");
  return {
    tests: ran,
    hitCount,
    pending,
    damaged: failed !== undefined && !pending && (await failsAgain(all.get(failed.id) as RunnerTestCase)),
    ...(mutant === undefined ? { coverage } : {}),
  };
}

/** Whether a test that failed fails without the mutant, too: then a module has kept something of a mutant. */
async function failsAgain(test: RunnerTestCase): Promise<boolean> {
  const suites = new SuiteRun();
  const failure = await suites.runTest(test, () => {});
  await suites.end();
  return failure !== undefined;
}
