/** Prints a vitest run's JSON report in lines: node totals.js passed|failed|titles REPORT */
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [what, report] = process.argv.slice(2);
const files = JSON.parse(readFileSync(report, "utf8")).testResults;
const passed = files.flatMap(({ assertionResults }) =>
  assertionResults.filter(({ status }) => status === "passed"),
);
const titles = files
  .filter(({ status }) => status === "failed")
  .flatMap(({ name, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter(({ status }) => status === "failed");
    // A file can fail without a failed test: in a hook, or before it has tests.
    return failed.length === 0 ? [file] : failed.map(({ fullName }) => `${file} > ${fullName}`);
  });
const lines = { passed: [passed.length], failed: [titles.length], titles };
for (const line of lines[what]) console.log(line);
