import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { checkout } from "../../harness/cli.ts";
import { objectsIn } from "../../harness/infra.ts";
import type { KubeObject } from "../../servers/kubernetes/objects.ts";
import { goProgram } from "../../servers/tools/go-tools.ts";

/** The charts of `infra/helm`, with the release and namespace for which each equals its base. */
export const charts = {
  gateway: {
    folder: join(checkout, "infra/helm/gateway"),
    release: "gateway",
    namespace: "clusterset-doh-gateway",
  },
  worker: {
    folder: join(checkout, "infra/helm/sync-worker"),
    release: "sync-worker",
    namespace: "clusterset-doh",
  },
} as const;

/** Runs helm. @throws {Error} with what it prints, if it fails */
export function helm(...args: string[]): string {
  return execFileSync(goProgram("helm"), args, { encoding: "utf8", stdio: "pipe" });
}

/** What makes the gateway answer as its base does. */
const PUBLIC = { "config.access.public": "true" };

/**
 * What `helm template` renders with these values, by their paths (`{ "image.tag": "0.2.0" }`) and in files.
 * Without files the gateway answers every client.
 * @param more arguments
 */
export function rendered(
  chart: keyof typeof charts,
  values: Readonly<Record<string, string>> = {},
  files: readonly string[] = [],
  more: readonly string[] = [],
): KubeObject[] {
  const { folder, release, namespace } = charts[chart];
  const args = ["template", release, folder, "--namespace", namespace, ...more];
  const given = chart === "gateway" && files.length === 0 ? { ...PUBLIC, ...values } : values;
  const set = Object.entries(given).flatMap(([path, value]) => ["--set", `${path}=${value}`]);
  return objectsIn(helm(...args, ...files.flatMap((file) => ["--values", file]), ...set));
}
