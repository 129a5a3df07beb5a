import { relative } from "node:path";
import type { Stryker } from "@stryker-mutator/core";

/** A mutant with what became of it. */
export type MutantResult = Awaited<ReturnType<Stryker["runMutationTest"]>>[number];

/** What became of the mutants of a folder. */
export interface Score {
  readonly killed: number;
  /** Ended by the clock: on a busy machine that says nothing, so that they count for neither side. */
  readonly timedOut: number;
  /** Lived through all tests, or no test reached them. */
  readonly survived: readonly MutantResult[];
}

/** Stryker stops a mutant that loops a hundred times as often as the code did; that does not hang on the clock. */
const LOOPS = /^Hit limit reached/;

/** Vitest stops a test that waits for too long, and Stryker takes that for a test that failed. */
const TEST_TIMED_OUT = /^(?:Error: )?(?:Test|Hook) timed out/;

/** Counts the mutants; Stryker's own score takes every timeout for a kill. */
export function scoreOf(mutants: readonly MutantResult[]): Score {
  const detected = mutants.filter(({ status }) => status === "Killed" || status === "Timeout");
  const timedOut = detected.filter(({ status, statusReason = "" }) =>
    status === "Timeout" ? !LOOPS.test(statusReason) : TEST_TIMED_OUT.test(statusReason),
  );
  return {
    killed: detected.length - timedOut.length,
    timedOut: timedOut.length,
    survived: mutants.filter(({ status }) => status === "Survived" || status === "NoCoverage"),
  };
}

/** Killed mutants of all that were tried, in percent. */
export function percentOf({ killed, survived }: Score): number {
  const tried = killed + survived.length;
  return tried === 0 ? 100 : (100 * killed) / tried;
}

/** A line of the table. */
export function describeScore(folder: string, score: Score): string {
  const { killed, survived, timedOut } = score;
  const counts = `${killed} killed, ${survived.length} survived, ${timedOut} timed out`;
  return `${folder.padEnd(10)} ${percentOf(score).toFixed(1).padStart(5)} %   ${counts}`;
}

/** Where a mutant is, and what it is: `src/limits/load.ts:12:5 ConditionalExpression: true`. */
export function describeMutant({ fileName, location, mutatorName, replacement = "" }: MutantResult): string {
  const { line, column } = location.start;
  const code = replacement.replace(/\s+/g, " ").slice(0, 80);
  return `  ${relative(process.cwd(), fileName)}:${line}:${column} ${mutatorName}: ${code}`;
}
