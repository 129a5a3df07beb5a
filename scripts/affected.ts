/** `npm run test:affected`: the tests of what changed. */
import { execFileSync, spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { coveringFolders } from "../test/e2e/covered.ts";

const help = `npm run test:affected -- [--since REVISION] [--list]

Runs the unit tests that import what changed, by the graph of imports, and the end-to-end folders that cover it, by the table in
test/e2e/covered.ts. What changed is what differs from REVISION (HEAD by default), with new files.

  --list   only print what would run

Example:
  npm run test:affected -- --since main
`;

const { values } = parseArgs({
  options: {
    since: { type: "string", default: "HEAD" },
    list: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
if (values.help) console.log(help);
else process.exitCode = await main(values.since, values.list);

async function main(since: string, onlyList: boolean): Promise<number> {
  const git = (...args: string[]) =>
    execFileSync("git", args, { encoding: "utf8" }).split("\n").filter(Boolean);
  const changed = [
    ...git("diff", "--name-only", since),
    ...git("ls-files", "--others", "--exclude-standard"),
  ];
  const folders = coveringFolders(changed);
  console.log(`${changed.length} files changed; end-to-end folders: ${folders.join(", ") || "none"}`);
  if (onlyList) return 0;
  const unit = await run("vitest", ["run", "--project", "unit*", "--changed", since, "--passWithNoTests"]);
  const e2e = folders.length === 0 ? 0 : await run("npm", ["run", "test:e2e", "--", ...folders]);
  return unit || e2e;
}

function run(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
