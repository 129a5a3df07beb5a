import { writeFileSync } from "node:fs";
import { join } from "node:path";

let written = 0;

/** Writes a kubeconfig file with one context. @param access `serverName`: that in the certificate */
export function writeKubeconfig(
  folder: string,
  access: { url: string; caPath: string; token: string; serverName?: string },
): string {
  const path = join(folder, `kubeconfig-${++written}`);
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "e2e",
        cluster: {
          server: access.url,
          "certificate-authority": access.caPath,
          ...(access.serverName !== undefined && { "tls-server-name": access.serverName }),
        },
      },
    ],
    users: [{ name: "e2e", user: { token: access.token } }],
    contexts: [{ name: "e2e", context: { cluster: "e2e", user: "e2e" } }],
    "current-context": "e2e",
  };
  writeFileSync(path, JSON.stringify(kubeconfig, null, 2), { mode: 0o600 });
  return path;
}
