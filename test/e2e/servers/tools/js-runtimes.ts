import { cpSync } from "node:fs";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { type Report, run } from "../run.ts";
import { cached } from "./cache.ts";

/**
 * The versions under test, by the names of their npm packages, as in npm/<name>/package.json. A new one gets
 * its own folder in the cache, and a new lock file (`npm install --package-lock-only`).
 */
export const runtimeVersions = { deno: "2.9.6", bun: "1.4.5" } as const;

/**
 * Gets a JavaScript runtime from its npm package; returns the program's path. It is no dependency of the
 * project.
 */
export async function installRuntime(name: keyof typeof runtimeVersions, report: Report): Promise<string> {
  const version = runtimeVersions[name];
  const folder = await cached(`${name}-${version}-${platform()}-${arch()}`, async (target) => {
    report(`fetching ${name} ${version} from npm`);
    // Both packages put the program in place by an install script, which their package.json allows.
    cpSync(join(import.meta.dirname, "npm", name), target, { recursive: true });
    // Not `npm ci`, which refuses a lock file without the packages of platforms that its registry did not
    // have. The hashes hold here, too.
    await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: target });
    const found = await run(programIn(target, name), ["--version"]);
    if (!found.includes(version)) throw new Error(`${name} ${version} says that it is ${found.trim()}`);
  });
  return programIn(folder, name);
}

function programIn(folder: string, name: string): string {
  return join(folder, "node_modules", ".bin", name);
}
