import { relative } from "node:path";
import type { MutantResult } from "./score.ts";

type Mutant = Pick<MutantResult, "location" | "mutatorName" | "replacement" | "status" | "statusReason">;

/** The results of a run as Stryker writes them, by file. */
export interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: Mutant[] }>>;
}

const SURVIVED: ReadonlySet<string> = new Set(["Survived", "NoCoverage"]);

/**
 * The places of mutants that survived, as Stryker takes them: lines from 1, columns from 0. A place has
 * others, too, that were killed.
 */
export function placesOfSurvivors({ files }: Report): string[] {
  const places = Object.entries(files).flatMap(([file, { mutants }]) =>
    mutants
      .filter(({ status }) => SURVIVED.has(status))
      .map(
        ({ location: { start, end } }) =>
          `${file}:${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`,
      ),
  );
  return [...new Set(places)];
}

/**
 * The results of a report in which those that survived have the result of another run that tried them again.
 */
export function withResultsOf({ files }: Report, again: readonly MutantResult[]): Report {
  const results = new Map(
    again.map((mutant) => [keyOf(relative(process.cwd(), mutant.fileName), mutant), mutant]),
  );
  const updated = Object.entries(files).map(([file, content]) => {
    const mutants = content.mutants.map((mutant) =>
      SURVIVED.has(mutant.status) ? (results.get(keyOf(file, mutant)) ?? mutant) : mutant,
    );
    return [file, { ...content, mutants }] as const;
  });
  return { files: Object.fromEntries(updated) };
}

/** The mutants of a report. */
export function mutantsOf({ files }: Report): MutantResult[] {
  return Object.entries(files).flatMap(([fileName, { mutants }]) =>
    mutants.map((mutant) => ({ ...mutant, fileName }) as MutantResult),
  );
}

function keyOf(file: string, { location: { start, end }, mutatorName, replacement = "" }: Mutant): string {
  return JSON.stringify([file, start.line, start.column, end.line, end.column, mutatorName, replacement]);
}
