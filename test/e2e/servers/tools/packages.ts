import { cpSync } from "node:fs";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { type Report, run } from "../run.ts";
import { cached } from "./cache.ts";

/** By npm package, as in npm/<name>/package.json; a new one needs `npm install --package-lock-only`. */
export const runtimeVersions = { deno: "2.9.6", bun: "1.4.5" } as const;

/** Gets a JavaScript runtime from its npm package; returns the program's path. */
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

/** The packages under test, as in python/<name>.txt, which pins all that comes along. */
export const pythonVersions = { dnspython: "2.9.2", hadolint: "2.15.1" } as const;

/** Installs a package from wheels whose hashes are known; returns the folder, which is for PYTHONPATH. */
export function installPython(name: keyof typeof pythonVersions, report: Report): Promise<string> {
  const version = pythonVersions[name];
  return cached(`${name}-${version}`, async (target) => {
    report(`pip install ${name} ${version}`);
    const requirements = join(import.meta.dirname, "python", `${name}.txt`);
    await run("pip3", [
      "install",
      "--quiet",
      "--disable-pip-version-check",
      "--target",
      target,
      "--require-hashes",
      "--only-binary",
      ":all:",
      "--requirement",
      requirements,
    ]);
  });
}
