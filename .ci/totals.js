/** Prints a vitest run's JSON report in lines: node totals.js passed|failed|files|titles REPORT [FILES], without the results of FILES. */
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [what, report, ...without] = process.argv.slice(2);
const results = JSON.parse(readFileSync(report, "utf8"))
  .testResults.map(({ name, status, assertionResults }) => ({
    file: relative(process.cwd(), name),
    status,
    passed: assertionResults.filter((test) => test.status === "passed").length,
    failed: assertionResults.filter((test) => test.status === "failed").map(({ fullName }) => fullName),
  }))
  .filter(({ file }) => !without.includes(file));
const failures = results.filter(({ status }) => status === "failed");
// A file can fail without a failed test: in a hook, or before it has tests.
const titles = failures.flatMap(({ file, failed }) =>
  failed.length === 0 ? [file] : failed.map((title) => `${file} > ${title}`),
);
const lines = {
  passed: [results.reduce((sum, { passed }) => sum + passed, 0)],
  failed: [titles.length],
  files: failures.map(({ file }) => file),
  titles,
};
for (const line of lines[what]) console.log(line);
