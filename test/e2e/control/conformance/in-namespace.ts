/** Runs the suite in a network namespace that was made for it: SUITE REPORT [SUITE OPTIONS]. */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { checkout } from "../../harness/cli.ts";
import { run } from "../../servers/run.ts";
import { startClusters } from "./clusters.ts";
import { type ConformanceReport, summary } from "./report.ts";

const [suite = "", report = "", ...options] = process.argv.slice(2);
process.env.E2E_RUN_FOLDER = report;
process.env.KEEP_E2E_FOLDERS = "1";
await run("ip", ["link", "set", "lo", "up"]);
const startedAt = performance.now();
const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(0);
const clusters = await startClusters();
console.log(`two clusters after ${seconds()} s`);
const kubeconfig = join(report, "kubeconfig");
writeFileSync(kubeconfig, clusters.kubeconfig, { mode: 0o600 });
const code = await runSuite();
console.log(`all after ${seconds()} s`);
console.log(summary(parse(readFileSync(join(report, "report.yaml"), "utf8")) as ConformanceReport));
// Every other process ends with this one, the first of its process namespace.
process.exit(code);

function runSuite(): Promise<number> {
  const { version } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as { version: string };
  const named = ["-project", "clusterset-doh", "-version", version];
  const contexts = ["-kubeconfig", kubeconfig, "-contexts", clusters.contexts.join(",")];
  const child = spawn(suite, [...contexts, ...named, "-ginkgo.no-color", ...options], {
    cwd: report,
    stdio: "inherit",
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (exit) => resolve(exit ?? 1));
  });
}
