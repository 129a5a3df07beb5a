import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import type { KubeObject } from "../servers/kubernetes/objects.ts";
import { requestToken } from "../servers/kubernetes/service-account.ts";
import { goProgram } from "../servers/tools/go-tools.ts";
import { checkout } from "./cli.ts";

/** The bases of `infra/kubernetes`; the components of each are in its folder `components`. */
export const workerFolder = join(checkout, "infra/kubernetes/sync-worker");
export const gatewayFolder = join(checkout, "infra/kubernetes/gateway");

const accessKinds = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/** Everything that `kubectl apply -k` would send of a base; of a component, its base with it. */
export function infraManifests(folder = workerFolder): KubeObject[] {
  const { kind } = parse(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as { kind: string };
  return kind === "Component" ? kustomized(join(folder, "../.."), [folder]) : kustomized(folder);
}

/**
 * Runs `kubectl kustomize` on an overlay.
 * @param base and `components` are folders
 * @param more keys of the overlay's kustomization
 * @param files of the overlay, by name
 */
export function kustomized(
  base: string,
  components: readonly string[] = [],
  more: object = {},
  files: Readonly<Record<string, string>> = {},
): KubeObject[] {
  const overlay = mkdtempSync(join(tmpdir(), "clusterset-doh-e2e-overlay-"));
  try {
    // kustomize takes no absolute path.
    const named = {
      resources: [relative(overlay, base)],
      components: components.map((one) => relative(overlay, one)),
    };
    writeFileSync(join(overlay, "kustomization.yaml"), stringify({ ...named, ...more }));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(overlay, name), text);
    return objectsIn(execFileSync(goProgram("kubectl"), ["kustomize", overlay], { encoding: "utf8" }));
  } finally {
    rmSync(overlay, { recursive: true });
  }
}

/** The objects of a stream of YAML documents, which Kubernetes reads as YAML 1.1: file modes are octal. */
export function objectsIn(yaml: string): KubeObject[] {
  return parseAllDocuments(yaml, { version: "1.1" }).flatMap(
    (document) => (document.toJS() as KubeObject | null) ?? [],
  );
}

/** The part of it that gives a sync worker its rights, with its namespace. */
export function accessManifests(folder?: string): KubeObject[] {
  return infraManifests(folder).filter(({ kind }) => kind === "Namespace" || accessKinds.includes(kind));
}

/**
 * A kubeconfig for the account of the control plane, which is created with its rights and the policy that
 * confines it.
 */
export async function kubeconfigOfControl(server: ApiServer): Promise<string> {
  const objects = infraManifests(join(workerFolder, "components/control")).filter(
    ({ kind }) => kind === "Namespace" || accessKinds.includes(kind) || kind.startsWith("Validating"),
  );
  await server.admin.apply(...objects);
  return server.kubeconfig(await requestToken(server.admin, "clusterset-doh", "sync-worker-control"));
}

/** A kubeconfig for the service account of `infra/kubernetes`, which is created together with its rights. */
export async function kubeconfigOfWorker(
  server: ApiServer,
  change: (objects: KubeObject[]) => KubeObject[] = (objects) => objects,
): Promise<string> {
  const objects = change(accessManifests());
  const account = objects.find(({ kind }) => kind === "ServiceAccount");
  if (!account?.metadata.namespace) throw new Error("infra/kubernetes has no ServiceAccount in a namespace");
  await server.admin.apply(...objects);
  const { namespace, name } = account.metadata;
  return server.kubeconfig(await requestToken(server.admin, namespace, name));
}
