import { relative } from "node:path";
import type { Stryker } from "@stryker-mutator/core";

/** A mutant with its result. */
export type MutantResult = Awaited<ReturnType<Stryker["runMutationTest"]>>[number];

/** The results of a folder's mutants. */
export interface Score {
  readonly killed: number;
  /** Timed out: that happens on a busy machine, too, so they count for neither side. */
  readonly timedOut: number;
  /** Not detected by any test, or not covered. */
  readonly survived: readonly MutantResult[];
}

/**
 * A mutant that loops is stopped by counting, which does not depend on the clock
 * (`one-worker/instrumented.ts`).
 */
const LOOPS = /^Hit limit reached/;

/** Vitest stops a test that waits for too long; Stryker reports that as a failed test. */
const TEST_TIMED_OUT = /^(?:Error: )?(?:Test|Hook) timed out/;

/** Counts the mutants; Stryker's own score counts every timeout as a kill. */
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

/** The share of killed mutants in percent. */
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

/** The position and the change of a mutant: `src/limits/counters.ts:12:5 ConditionalExpression: true`. */
export function describeMutant({ fileName, location, mutatorName, replacement = "" }: MutantResult): string {
  const { line, column } = location.start;
  const code = replacement.replace(/\s+/g, " ").slice(0, 80);
  return `  ${relative(process.cwd(), fileName)}:${line}:${column} ${mutatorName}: ${code}`;
}
