/** `npm run test:e2e`: gets the servers that the end-to-end tests need, then runs the tests. */
import { CI_TOOLS, ensureTools } from "../servers/tools/tools.ts";
import { runVitest } from "./vitest.ts";

const help = `npm run test:e2e -- [--help] [--install-only] [FILES] [VITEST OPTIONS]

Runs the end-to-end tests against real kube-apiservers, etcd and CoreDNS. What is missing is installed first: Debian
packages by apt-get, which needs root, and the rest built or fetched through the Go module proxy, npm and PyPI and kept in
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
  process.exitCode = await main();
}

async function main(): Promise<number> {
  const startedAt = Date.now();
  const report = (line: string) =>
    console.error(`[${Math.round((Date.now() - startedAt) / 1000)} s] ${line}`);
  try {
    await ensureTools(CI_TOOLS, report);
  } catch (error) {
    console.error(`The servers for the end-to-end tests cannot be had: ${(error as Error).message}`);
    return 2;
  }
  report("the servers for the tests are in place");
  return args.includes("--install-only") ? 0 : runVitest(["--project", "e2e*", ...args]);
}
