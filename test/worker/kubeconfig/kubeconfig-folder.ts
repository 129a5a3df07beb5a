import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { folderOfTest } from "../../folders.ts";
import type { ApiServers } from "./api-servers.ts";
import type { KubeconfigCase } from "./kubeconfig-cases.ts";

/** Writes a case into a folder, its home: beside an authority, and a client certificate with its key. */
export function writeCase(
  { files, KUBECONFIG, environment, flags = {}, inPod }: KubeconfigCase,
  servers: ApiServers,
) {
  const folder = folderOfTest();
  const written = files(servers);
  const { cert, key } = servers.client;
  writeFiles(folder, { "api.crt": servers.authority, "me.crt": cert, "me.key": key });
  writeFiles(folder, { ...(inPod === true && { token: "pod-token\n" }), ...written });
  const names = KUBECONFIG ?? ["k1.yaml", "k2.yaml"].filter((name) => name in written).join(":");
  const inFolder = (name: string) => (name === "" ? "" : join(folder, name));
  const variables: Readonly<Record<string, string>> = {
    HOME: folder,
    ...environment?.(servers),
    ...(names !== "" && { KUBECONFIG: names.split(":").map(inFolder).join(delimiter) }),
  };
  return {
    folder,
    variables,
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
