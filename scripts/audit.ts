/**
 * `npm run audit [-- NPM FLAGS]`: asks the npm registry for advisories on everything in package-lock.json.
 *
 * Exit code 0: there are none. 1: there are. 3: nobody could be asked, which says nothing about the packages:
 * some mirrors and networks have no advisories.
 */
import { spawnSync } from "node:child_process";

/** What `npm audit --json` prints: a report, or why there is none. */
interface AuditOutput {
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity: string; readonly via: readonly unknown[] }>
  >;
  readonly message?: string;
}

const { stdout, stderr, error } = spawnSync("npm", ["audit", "--json", ...process.argv.slice(2)], {
  encoding: "utf8",
  maxBuffer: 64 * 1024 * 1024,
});
const { vulnerabilities, message } = readOutput(stdout);
if (vulnerabilities === undefined) {
  const reason = message ?? error?.message ?? stderr.trim().split("\n").at(-1);
  console.error(`npm audit could not be asked, so this says nothing about the packages: ${reason}`);
  process.exitCode = 3;
} else {
  for (const [name, { severity, via }] of Object.entries(vulnerabilities))
    console.log(`${severity}: ${name}: ${via.map(describe).join("; ")}`);
  const found = Object.keys(vulnerabilities).length;
  console.log(
    found === 0 ? "npm audit: no advisory on any package" : `npm audit: advisories on ${found} packages`,
  );
  process.exitCode = found === 0 ? 0 : 1;
}

function readOutput(text: string): AuditOutput {
  try {
    return JSON.parse(text) as AuditOutput;
  } catch {
    return {};
  }
}

/** An advisory, or the name of the package through which there is one. */
function describe(via: unknown): string {
  if (typeof via === "string") return `by way of ${via}`;
  const { title, range, url } = via as { title?: string; range?: string; url?: string };
  return `${title} (${range}) ${url}`;
}
