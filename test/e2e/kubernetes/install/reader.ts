import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkout, cliPath, type Finished, runProgram } from "../../harness/cli.ts";
import type { ApiServer } from "../../servers/kubernetes/api-server.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";

/** Carries out the commands of a page. */
export interface Reader {
  /** Has `infra/` of the checkout. */
  readonly folder: string;
  /** The arguments of `env` that give a program helm, kubectl, clusterset-doh and the kubeconfig. */
  readonly environment: readonly string[];
  /** Writes the kubeconfig, with these contexts, and no current one. */
  use(contexts: Readonly<Record<string, ApiServer>>): void;
  /** Runs a line of a shell in that environment. @param contexts of a new kubeconfig */
  run(line: string, contexts?: Readonly<Record<string, ApiServer>>, cwd?: string): Promise<Finished>;
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
  return {
    folder,
    environment,
    use,
    run: (line, contexts, cwd = folder) => {
      if (contexts !== undefined) use(contexts);
      return runProgram("env", [...environment, "bash", "-ec", line], { cwd });
    },
  };
}

function configOf(contexts: Readonly<Record<string, ApiServer>>): object {
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
