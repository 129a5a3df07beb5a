import { BroadcastChannel } from "node:worker_threads";
import { describe, inject, it, type RunnerTestCase } from "vitest";
import { instrumented } from "./instrumented.ts";
import { CHANNEL, type Measured, type RanTest, type RunReply, type RunRequest } from "./messages.ts";
import { type Bounds, idleTime, LOOPS, unlessStuck, workTime } from "./stuck.ts";
import { idOf, SuiteRun, testsIn } from "./suite-run.ts";

const TIMED_OUT = /^(?:Error: )?(?:Test|Hook) timed out/;

/** What a test may take more than without the mutant. Beyond that it waits for something that never comes. */
const MORE: Bounds = { idle: 1500, work: 4_000_000 };

const UNBOUNDED: Bounds = { idle: Number.POSITIVE_INFINITY, work: Number.POSITIVE_INFINITY };

let measured = inject("measured" as never) as Measured;

// The first test never ends: it runs the others, in this worker, as often as there are mutants.
it("runs tests on request", { timeout: Number.POSITIVE_INFINITY }, async ({ task }) => {
  const tests = new Map(testsIn(task.file).map((test) => [idOf(test), test]));
  tests.delete(idOf(task));
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (event) => {
    run(tests, event.data as RunRequest).then(
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

/** Runs the tests with the least work first, and ends at the first one that fails if there is a mutant. */
async function run(
  all: ReadonlyMap<string, RunnerTestCase>,
  { tests, mutant }: RunRequest,
): Promise<RunReply> {
  const ids = (tests ?? [...all.keys()]).filter((id) => all.has(id));
  if (mutant !== undefined) ids.sort((a, b) => (measured.work[a] ?? 0) - (measured.work[b] ?? 0));
  const work: Record<string, number> = {};
  const passes: Record<string, number> = {};
  const idle: Record<string, number> = {};
  instrumented.activeMutant = mutant;
  const ran: RanTest[] = [];
  const suites = new SuiteRun();
  for (const id of ids) {
    const test = all.get(id) as RunnerTestCase;
    const started = performance.now();
    const workBefore = workTime();
    const idleBefore = idleTime();
    const bounds = mutant === undefined ? UNBOUNDED : boundsOf(id);
    instrumented.begin(mutant === undefined ? undefined : (measured.passes[id] ?? 0));
    const failure = await suites.runTest(
      test,
      (running) => {
        instrumented.currentTestId = running ? id : undefined;
      },
      (testFunction) => unlessStuck(testFunction, bounds),
    );
    work[id] = workTime() - workBefore;
    passes[id] = instrumented.passes;
    idle[id] = idleTime() - idleBefore;
    ran.push({
      id,
      file: id.slice(0, id.indexOf("#")),
      milliseconds: performance.now() - started,
      ...(failure === undefined ? {} : { failure }),
    });
    if (mutant !== undefined && (failure !== undefined || instrumented.hasLooped())) break;
  }
  const looped = instrumented.hasLooped();
  instrumented.begin();
  await suites.end();
  instrumented.activeMutant = undefined;
  if (mutant === undefined) {
    measured = { work, passes, idle };
    return { tests: ran, measured, coverage: instrumented.mutantCoverage };
  }
  const last = ran.at(-1);
  const detected = last !== undefined && (looped || last.failure !== undefined);
  const pending = last?.failure === LOOPS || TIMED_OUT.test(last?.failure ?? "");
  return {
    tests: ran,
    looped,
    pending,
    damaged: detected && !pending && (await failsAgain(all.get(last.id) as RunnerTestCase)),
  };
}

function boundsOf(id: string): Bounds {
  return {
    idle: 2 * (measured.idle[id] ?? 0) + MORE.idle,
    work: 10 * (measured.work[id] ?? 0) + MORE.work,
  };
}

/** Whether a test that failed fails without the mutant, too: then a module has kept something of a mutant. */
async function failsAgain(test: RunnerTestCase): Promise<boolean> {
  instrumented.begin();
  const suites = new SuiteRun();
  const failure = await suites.runTest(
    test,
    () => {},
    (testFunction) => unlessStuck(testFunction, MORE),
  );
  await suites.end();
  return failure !== undefined;
}
