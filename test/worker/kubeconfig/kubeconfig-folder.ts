import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { folderOfTest } from "../../folders.ts";
import type { ApiServers } from "./api-servers.ts";
import type { KubeconfigCase } from "./kubeconfig-cases.ts";

/** A case as programs get it: a folder with its files, which is the home, too. */
export interface CaseFolder {
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly flags: { readonly kubeconfig?: string; readonly context?: string };
}

/** Writes the files of a case; `api.crt` is the authority unless the case has one. */
export function writeCase(
  { files, KUBECONFIG, environment, flags = {} }: KubeconfigCase,
  servers: ApiServers,
): CaseFolder {
  const folder = folderOfTest();
  const written = files(servers);
  writeFiles(folder, { "api.crt": servers.authority, ...written });
  const names = KUBECONFIG ?? ("k1.yaml" in written ? "k1.yaml" : undefined);
  const inFolder = (name: string) => (name === "" ? "" : join(folder, name));
  return {
    folder,
    variables: {
      HOME: folder,
      ...environment?.(servers),
      ...(names !== undefined && { KUBECONFIG: names.split(":").map(inFolder).join(delimiter) }),
    },
    flags: { ...flags, ...(flags.kubeconfig !== undefined && { kubeconfig: inFolder(flags.kubeconfig) }) },
  };
}

/** Files by name: text as it is, anything else as JSON. */
export function writeFiles(folder: string, files: Readonly<Record<string, string | object>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content), {
      mode: name.endsWith(".sh") ? 0o700 : 0o600,
    });
  }
}

/** What the plugin of a case was told. */
export function readInfo(folder: string): unknown {
  return JSON.parse(readFileSync(join(folder, "info.json"), "utf8"));
}
