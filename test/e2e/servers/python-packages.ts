import { cached } from "./cache.ts";
import { type Report, run } from "./run.ts";

/** The packages under test. */
export const pythonVersions = { dnspython: "2.9.2" } as const;

/** Installs dnspython with what it needs for DNS over HTTPS; returns the folder for PYTHONPATH. */
export function installDnspython(report: Report): Promise<string> {
  const { dnspython } = pythonVersions;
  return cached(`dnspython-${dnspython}`, async (target) => {
    report(`pip install dnspython ${dnspython}`);
    const wanted = `dnspython[doh]==${dnspython}`;
    await run("pip3", ["install", "--quiet", "--disable-pip-version-check", "--target", target, wanted]);
  });
}
