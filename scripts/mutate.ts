/** `npm run mutate [-- FOLDERS]`: mutation testing. Not part of CI: it takes minutes to hours. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Stryker } from "@stryker-mutator/core";
import { Argument, Command, InvalidArgumentError } from "commander";
import { MUTATED_FOLDERS } from "./mutation/folders.ts";
import { mutantsOf, placesOfSurvivors, type Report, withResultsOf } from "./mutation/report.ts";
import {
  describeMutant,
  describeScore,
  type MutantResult,
  percentOf,
  type Score,
  scoreOf,
} from "./mutation/score.ts";

type StrykerOptions = Required<ConstructorParameters<typeof Stryker>[0]>;

const REPORTS = "reports/mutation";

interface Options {
  readonly concurrency: number;
  readonly files: string;
  readonly again?: boolean;
  readonly isolated?: boolean;
  readonly atLeast?: number;
}

await new Command("npm run mutate --")
  .description("Changes the code in small ways (StrykerJS), and shows the changes that no test detects.")
  .addArgument(
    new Argument("[folders...]", "folders of src/; all of these unless given").choices(
      Object.keys(MUTATED_FOLDERS),
    ),
  )
  .option("--files <pattern>", "only these files of each folder, such as '{ports,pods}.ts'", "**/*.ts")
  .option(
    "--again",
    `only the survivors of the last run, of code that has not changed; the others count as they did`,
  )
  .option("--concurrency <number>", "test processes at a time", positive, 1)
  .option("--isolated", "start a worker for each mutant: some hundred times slower, and shares no state")
  .option("--at-least <percent>", "exit with 1 if a folder's score is lower", positive)
  .addHelpText(
    "after",
    `
Example:
  npm run mutate -- limits snapshot

All tests of a folder are loaded once, into one process, in which each mutant runs those that reach it. If a test that
failed also fails without the mutant, the process is replaced and the mutant tried again.

A folder's score is the share of its mutants that its own tests kill (scripts/mutation/folders.ts lists them). A mutant
that loops counts as killed if Stryker detects it by counting. A mutant that timed out counts for neither side, since
timeouts also happen on a busy machine: run those folders again. Details are in ${REPORTS}/FOLDER.html.
Exit codes: 0 measured, 1 a score is lower than --at-least or the tests fail without a mutant, 2 wrong arguments.`,
  )
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(mutate)
  .parseAsync();

async function mutate(folders: readonly string[], { atLeast = 0, ...options }: Options): Promise<void> {
  const chosen = folders.length > 0 ? folders : Object.keys(MUTATED_FOLDERS);
  const scores = new Map<string, Score>();
  for (const folder of chosen) {
    const mutants = await measure(folder, options).catch((error: Error) => {
      console.error(`${folder}: ${error.message}`);
      process.exitCode = 1;
    });
    if (mutants === undefined) continue;
    const score = scoreOf(mutants);
    scores.set(folder, score);
    for (const mutant of score.survived) console.log(describeMutant(mutant));
    console.log(describeScore(folder, score));
  }
  if (chosen.length > 1) console.log("");
  if (chosen.length > 1) for (const [folder, score] of scores) console.log(describeScore(folder, score));
  if ([...scores.values()].some((score) => percentOf(score) < atLeast)) process.exitCode = 1;
}

async function measure(
  folder: string,
  { files, again = false, ...options }: Options,
): Promise<MutantResult[]> {
  if (!again) return runStryker(folder, [`src/${folder}/${files}`], options);
  const path = `${REPORTS}/${folder}.json`;
  const before: Report = JSON.parse(readFileSync(path, "utf8"));
  const places = placesOfSurvivors(before);
  if (places.length === 0) return mutantsOf(before);
  const report = withResultsOf(before, await runStryker(folder, places, options));
  writeFileSync(path, JSON.stringify({ ...before, ...report }));
  return mutantsOf(report);
}

function runStryker(
  folder: string,
  mutate: string[],
  { concurrency, isolated = false }: Pick<Options, "concurrency" | "isolated">,
): Promise<MutantResult[]> {
  mkdirSync(REPORTS, { recursive: true });
  process.env.MUTATED_FOLDER = folder;
  return new Stryker({
    mutate,
    testRunner: isolated ? "vitest" : "one-worker",
    // The table lists the tests; Stryker must not add others that import the folder.
    vitest: { configFile: "scripts/mutation/vitest.config.ts", related: false },
    plugins: ["@stryker-mutator/vitest-runner", "./scripts/mutation/one-worker/runner.ts"],
    concurrency,
    // Far more than the tests need on a busy machine.
    timeoutMS: 10_000,
    timeoutFactor: 4,
    dryRunTimeoutMinutes: 30,
    // Static mutants, such as tables of a module: each would need all tests in a new process.
    ignoreStatic: true,
    ignorePatterns: ["bench", "infra", "examples", "dist", "reports"],
    tempDirName: ".stryker-tmp",
    reporters: ["progress-append-only", "json", "html"],
    jsonReporter: { fileName: `${REPORTS}/${folder}.json` },
    htmlReporter: { fileName: `${REPORTS}/${folder}.html` },
    logLevel: "warn" as StrykerOptions["logLevel"],
  }).runMutationTest();
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("must be a whole number from 1");
  return value;
}
