import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { checkout, cliPath, type Finished, runProgram } from "../../harness/cli.ts";
import type { ApiServer } from "../../servers/kubernetes/api-server.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";

type Contexts = Readonly<Record<string, ApiServer>>;

/** Carries out the commands of a page. */
export interface Reader {
  /** Has `infra/` of the checkout. */
  readonly folder: string;
  /** The arguments of `env` that give a program helm, kubectl, clusterset-doh and the kubeconfig. */
  readonly environment: readonly string[];
  /** Writes the kubeconfig, with these contexts, and no current one. */
  use(contexts: Contexts): void;
  /** Runs a line of a shell in that environment. @param contexts of a new kubeconfig */
  run(line: string, contexts?: Contexts, cwd?: string): Promise<Finished>;
  /** The same of a line that has to end with this code. @returns what it prints */
  expectRun(line: string, contexts: Contexts, expected?: number): Promise<string>;
}

export async function startReader(): Promise<Reader> {
  const folder = temporaryFolder("reader");
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const program of [await ensureTool("helm"), await ensureTool("kubectl")])
    symlinkSync(program, join(bin, program.split("/").at(-1)!));
  const script = (name: string, command: string) =>
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  script("npx", "");
  script("clusterset-doh", `${process.execPath} ${cliPath}`);
  symlinkSync(join(checkout, "infra"), join(folder, "infra"));
  const kubeconfig = join(folder, "kubeconfig");
  const environment = [`PATH=${bin}:${process.env.PATH}`, `HOME=${folder}`, `KUBECONFIG=${kubeconfig}`];
  const use: Reader["use"] = (contexts) => writeFileSync(kubeconfig, JSON.stringify(configOf(contexts)));
  const run: Reader["run"] = (line, contexts, cwd = folder) => {
    if (contexts !== undefined) use(contexts);
    return runProgram("env", [...environment, "bash", "-ec", line], { cwd });
  };
  return {
    folder,
    environment,
    use,
    run,
    expectRun: async (line, contexts, expected = 0) => {
      const { code, stdout, stderr } = await run(line, contexts);
      expect([code, code === expected ? "" : stderr], line).toEqual([expected, ""]);
      return stdout;
    },
  };
}

function configOf(contexts: Contexts): object {
  const clusters = Object.entries(contexts).map(([name, { url, ca }]) => {
    const data = Buffer.from(ca).toString("base64");
    return { name, cluster: { server: url, "certificate-authority-data": data } };
  });
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters,
    contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: "admin" } })),
    users: [{ name: "admin", user: { token: "admin-of-the-end-to-end-tests" } }],
  };
}
