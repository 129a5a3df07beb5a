import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { checkout } from "./cli.ts";
import type { ApiServer } from "./servers/api-server.ts";
import type { KubeObject } from "./servers/objects.ts";
import { requestToken } from "./servers/service-account.ts";

interface Kustomization {
  namespace?: string;
  resources?: string[];
}

const accessKinds = [
  "Namespace",
  "ServiceAccount",
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
];
const clusterWide = new Set(["Namespace", "ClusterRole", "ClusterRoleBinding"]);

/** What `infra/kubernetes` grants a sync worker, as `kubectl apply -k` would send it. */
export function accessManifests(
  folder = join(checkout, "infra/kubernetes"),
): KubeObject[] {
  return kustomize(folder).filter(({ kind }) => accessKinds.includes(kind));
}

/** A kubeconfig for the service account of `infra/kubernetes`, which is created together with its rights. */
export async function kubeconfigOfWorker(
  server: ApiServer,
  change: (objects: KubeObject[]) => KubeObject[] = (objects) => objects,
): Promise<string> {
  const objects = change(accessManifests());
  const account = objects.find(({ kind }) => kind === "ServiceAccount");
  if (!account?.metadata.namespace) throw new Error("infra/kubernetes has no ServiceAccount in a namespace");
  // The API server takes some kinds only once their namespace is there.
  const order = (object: KubeObject) => (object.kind === "Namespace" ? 0 : 1);
  await server.admin.apply(...objects.sort((one, other) => order(one) - order(other)));
  const { namespace, name } = account.metadata;
  return server.kubeconfig(await requestToken(server.admin, namespace, name));
}

/** The part of kustomize that `infra/kubernetes` uses: `resources` and `namespace`; anything else is an error. */
function kustomize(folder: string): KubeObject[] {
  const path = join(folder, "kustomization.yaml");
  const { namespace, resources = [] } = readKustomization(path);
  const objects = resources.flatMap((resource) => {
    const at = join(folder, resource);
    if (statSync(at).isDirectory()) return kustomize(at);
    return parseAllDocuments(readFileSync(at, "utf8")).map((document) => document.toJS() as KubeObject);
  });
  return namespace === undefined ? objects : objects.map((object) => inNamespace(object, namespace));
}

function readKustomization(path: string): Kustomization {
  const known = new Set(["apiVersion", "kind", "namespace", "resources", "labels", "images"]);
  const kustomization = parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  const unknown = Object.keys(kustomization).filter((key) => !known.has(key));
  if (unknown.length > 0) throw new Error(`${path}: this test does not know what ${unknown.join(", ")} does`);
  return kustomization as Kustomization;
}

function inNamespace(object: KubeObject, namespace: string): KubeObject {
  const { kind, metadata } = object;
  const subjects = object.subjects as { kind: string; name: string; namespace?: string }[] | undefined;
  return {
    ...object,
    ...(kind === "Namespace" && { metadata: { ...metadata, name: namespace } }),
    ...(!clusterWide.has(kind) && { metadata: { ...metadata, namespace } }),
    ...(subjects && { subjects: subjects.map((subject) => ({ ...subject, namespace })) }),
  };
}
