import { expect, it } from "vitest";
import { mutantsOf, placesOfSurvivors, type Report, withResultsOf } from "../../scripts/mutation/report.ts";
import { type MutantResult, scoreOf } from "../../scripts/mutation/score.ts";

const at = (line: number, column: number) => ({
  location: { start: { line, column }, end: { line, column: column + 4 } },
});
const mutant = (line: number, column: number, replacement: string, status: string) =>
  ({ ...at(line, column), mutatorName: "BooleanLiteral", replacement, status }) as MutantResult;

const REPORT: Report = {
  files: {
    "src/a.ts": {
      mutants: [
        mutant(3, 5, "true", "Survived"),
        mutant(3, 5, "false", "Killed"),
        mutant(4, 1, "true", "NoCoverage"),
      ],
    },
    "src/b.ts": { mutants: [mutant(3, 5, "true", "Killed")] },
  },
};

it("tries the survivors of a report again, at their places", () => {
  expect(placesOfSurvivors(REPORT)).toEqual(["src/a.ts:3:4-3:8", "src/a.ts:4:0-4:4"]);
});

it("counts a survivor as the second run found it, and every other mutant as the first did", () => {
  const again = [
    { ...mutant(3, 5, "true", "Killed"), fileName: `${process.cwd()}/src/a.ts` },
    // At the place of a survivor, and killed before.
    { ...mutant(3, 5, "false", "Survived"), fileName: `${process.cwd()}/src/a.ts` },
    { ...mutant(4, 1, "true", "Survived"), fileName: `${process.cwd()}/src/a.ts` },
  ];
  const { killed, survived } = scoreOf(mutantsOf(withResultsOf(REPORT, again)));
  expect(killed).toBe(3);
  expect(survived.map(({ fileName, location }) => [fileName, location.start.line])).toEqual([
    ["src/a.ts", 4],
  ]);
});
