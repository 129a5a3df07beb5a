import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { MUTATED_FOLDERS } from "../../scripts/mutation/folders.ts";
import { describeScore, type MutantResult, percentOf, scoreOf } from "../../scripts/mutation/score.ts";

const mutant = (status: string, statusReason?: string) => ({ status, statusReason }) as MutantResult;

test("a mutant that timed out counts for neither side, and one that looped is killed", () => {
  const score = scoreOf([
    mutant("Killed"),
    mutant("Killed"),
    mutant("Timeout", "Hit limit reached (501/500)"),
    mutant("Timeout"),
    mutant("Killed", "Test timed out in 5000ms."),
    mutant("Survived"),
    mutant("NoCoverage"),
    mutant("Ignored"),
  ]);
  expect(score).toMatchObject({ killed: 3, timedOut: 2, survived: { length: 2 } });
  expect(percentOf(score)).toBe(60);
  expect(describeScore("dns", score)).toBe("dns         60.0 %   3 killed, 2 survived, 2 timed out");
});

test("a folder without mutants has a score of 100 %", () => {
  expect(percentOf(scoreOf([]))).toBe(100);
});

test.each(Object.entries(MUTATED_FOLDERS))("src/%s and its tests exist", (folder, tests) => {
  expect(existsSync(`src/${folder}`)).toBe(true);
  for (const pattern of tests)
    expect(existsSync(pattern.replace(/^!/, "").replace(/\/[^/]*$/, ""))).toBe(true);
});
