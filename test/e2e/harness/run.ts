/** `npm run test:e2e`: gets the servers that the end-to-end tests need, then runs the tests. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ensureTools } from "../servers/tools/tools.ts";

const help = `npm run test:e2e -- [--help] [--install-only] [FILES] [VITEST OPTIONS]

Runs the end-to-end tests against real kube-apiservers, etcd and CoreDNS. What is missing is installed first: Debian
packages by apt-get, which needs root, and the rest built or fetched through the Go module proxy and npm and kept in
\${XDG_CACHE_HOME:-~/.cache}/clusterset-doh/e2e. The first run takes some minutes for that.

  --install-only   only install what is missing
  --help           this text

Everything else goes to vitest:

  npm run test:e2e -- test/e2e/pushes/leases.e2e.test.ts
  npm run test:e2e -- -t "oldest export" --reporter=verbose
  npm run test:e2e -- --reporter=json --outputFile=e2e.json

KEEP_E2E_FOLDERS=1 keeps the folders with the logs of all processes; they are under the system's temporary folder.
`;

const args = process.argv.slice(2);
if (args.includes("--help") || args.includes("-h")) {
  console.log(help);
} else {
  const startedAt = Date.now();
  const report = (line: string) =>
    console.error(`[${Math.round((Date.now() - startedAt) / 1000)} s] ${line}`);
  const haveTools = await ensureTools(report).then(
    () => true,
    (error: Error) => {
      console.error(`The servers for the end-to-end tests cannot be had: ${error.message}`);
      return false;
    },
  );
  if (haveTools) report("the servers for the tests are in place");
  if (!haveTools) process.exitCode = 2;
  else if (!args.includes("--install-only")) process.exitCode = await runVitest(args);
}

/** Resolves with vitest's exit code; 1 where a signal ended it. */
async function runVitest(vitestArgs: readonly string[]): Promise<number> {
  const vitest = fileURLToPath(new URL("vitest.mjs", import.meta.resolve("vitest/package.json")));
  const child = spawn(process.execPath, [vitest, "run", "--project", "e2e*", ...vitestArgs], {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
