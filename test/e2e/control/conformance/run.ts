/**
 * `npm run conformance`: runs the compiled conformance suite of the MCS API against two clusters with our
 * control plane.
 */
import { spawn } from "node:child_process";
import { accessSync, constants, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ensureTools } from "../../servers/tools/tools.ts";
import { CLUSTER_TOOLS, ISOLATED } from "./isolated.ts";

const help = `npm run conformance -- --suite FILE [--report FOLDER] [-- SUITE OPTIONS]

Runs the conformance suite of the MCS API against two clusters that have our control plane. FILE is the compiled suite. Each cluster has a
kube-apiserver, etcd, kube-controller-manager, kwok for its node, and kube-proxy; pods are programs in network namespaces.
Needs root on Linux.

  --suite FILE      the compiled suite
  --report FOLDER   where the suite writes report.html and report.yaml, and all servers their logs; reports/conformance by default
  --help            this text

Exits with 0 if every spec that ran passes.

  npm run conformance -- --suite conformance.test -- -ginkgo.label-filter=Required
`;

const { values, positionals } = parseArgs({
  options: {
    suite: { type: "string" },
    report: { type: "string", default: "reports/conformance" },
    help: { type: "boolean", short: "h" },
  },
  allowPositionals: true,
});
if (values.help) console.log(help);
else process.exitCode = await main();

async function main(): Promise<number> {
  if (values.suite === undefined) return failure(`--suite is missing\n\n${help}`);
  if (process.getuid?.() !== 0) return failure("network namespaces need root");
  const suite = resolve(values.suite);
  const report = resolve(values.report);
  try {
    accessSync(suite, constants.X_OK);
    await ensureTools(CLUSTER_TOOLS, console.error);
  } catch (error) {
    return failure((error as Error).message);
  }
  mkdirSync(report, { recursive: true });
  const inside = join(import.meta.dirname, "in-namespace.ts");
  const [command, ...namespaces] = ISOLATED;
  const line = [...namespaces, process.execPath, inside, suite, report, ...positionals];
  const child = spawn(command, line, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill("SIGKILL")); // unshare ignores both
  return new Promise((done) => {
    child.once("error", (error) => done(failure(error.message)));
    child.once("exit", (code) => done(code ?? 1));
  });
}

function failure(message: string): number {
  console.error(message);
  return 2;
}
