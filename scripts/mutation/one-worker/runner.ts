import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { BroadcastChannel } from "node:worker_threads";
import { declareFactoryPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import {
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestResult,
  type TestRunner,
  TestStatus,
  toMutantRunResult,
} from "@stryker-mutator/api/test-runner";
import { createVitest } from "vitest/node";
import { foldersTests } from "../folders.ts";
import { CHANNEL, type Measured, type RanTest, type RunReply, type RunRequest } from "./messages.ts";

/** In the sandbox, so it is gone with it. */
const MEASURED = "measured.json";

/** As Stryker's own runners say it (`score.ts`). */
const LOOPED = "Hit limit reached";

/** Loads all tests once into one worker of Vitest, and runs those that reach a mutant there. */
class OneWorkerRunner implements TestRunner {
  #channel: BroadcastChannel | undefined;
  #mutants = 0;
  #spoiled = false;

  /** Only static mutants need modules that are loaded anew, and they are not run (`ignoreStatic`). */
  capabilities() {
    return { reloadEnvironment: true };
  }

  async dryRun(): Promise<DryRunResult> {
    await this.#load();
    const { tests, measured, coverage } = await this.#run({});
    writeFileSync(MEASURED, JSON.stringify(measured));
    return {
      status: DryRunStatus.Complete,
      tests: tests.map(toResult),
      ...(coverage === undefined ? {} : { mutantCoverage: coverage }),
    };
  }

  async mutantRun({ testFilter, activeMutant }: MutantRunOptions): Promise<MutantRunResult> {
    if (this.#channel === undefined) await this.#load();
    const request: RunRequest = {
      mutant: activeMutant.id,
      ...(testFilter === undefined ? {} : { tests: testFilter }),
    };
    // After an error Stryker runs the mutant again, in a new process.
    if (this.#spoiled) throw new Error("an earlier mutant changed the state of a module");
    const reply = await this.#run(request);
    this.#spoiled = reply.pending === true || reply.damaged === true;
    // An earlier mutant may have done the damage.
    if (reply.damaged && this.#mutants > 0) throw new Error("the test fails without the mutant, too");
    this.#mutants++;
    if (reply.looped) return { status: MutantRunStatus.Timeout, reason: LOOPED };
    return toMutantRunResult({ status: DryRunStatus.Complete, tests: reply.tests.map(toResult) });
  }

  async #load(): Promise<void> {
    const { include, exclude } = foldersTests(process.env.MUTATED_FOLDER ?? "");
    const files = globSync(include, { exclude });
    const vitest = await createVitest("test", {
      config: "scripts/mutation/vitest.config.ts",
      include: ["scripts/mutation/one-worker/all-tests.ts"],
      exclude: [],
      pool: "threads",
      maxWorkers: 1,
      isolate: false,
      watch: false,
      reporters: [{}],
      onConsoleLog: () => false,
    });
    const measured: Measured = existsSync(MEASURED)
      ? JSON.parse(readFileSync(MEASURED, "utf8"))
      : { work: {}, passes: {}, idle: {} };
    vitest.provide("measured" as never, measured as never);
    vitest.provide("files" as never, files.sort().map((file) => resolve(file)) as never);
    this.#channel = new BroadcastChannel(CHANNEL);
    const loaded = this.#next();
    const ended = vitest.start().then(({ unhandledErrors, testModules }) => {
      const errors = [...unhandledErrors, ...testModules.flatMap((module) => module.errors())];
      throw new Error(
        `the tests could not be loaded: ${errors.map((error) => (error as Error).stack).join("\n")}`,
      );
    });
    ended.catch(() => {});
    await Promise.race([loaded, ended]);
  }

  async #run(request: RunRequest): Promise<RunReply> {
    const next = this.#next();
    this.#channel?.postMessage(request);
    const reply = (await next) as RunReply | { readonly error: string };
    if ("error" in reply) throw new Error(reply.error);
    return reply;
  }

  #next(): Promise<unknown> {
    return new Promise((resolve) => {
      const channel = this.#channel as BroadcastChannel;
      channel.onmessage = (event) => resolve((event as MessageEvent).data);
    });
  }
}

function toResult({ id, file, milliseconds, failure }: RanTest): TestResult {
  const result = { id, name: id, fileName: file, timeSpentMs: milliseconds };
  if (failure === undefined) return { ...result, status: TestStatus.Success };
  return { ...result, status: TestStatus.Failed, failureMessage: failure };
}

export const strykerPlugins = [
  declareFactoryPlugin(PluginKind.TestRunner, "one-worker", () => new OneWorkerRunner()),
];
