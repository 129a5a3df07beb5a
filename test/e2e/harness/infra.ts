import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import type { KubeObject } from "../servers/kubernetes/objects.ts";
import { requestToken } from "../servers/kubernetes/service-account.ts";
import { checkout } from "./cli.ts";

interface Kustomization {
  resources?: string[];
  labels?: { pairs: Record<string, string>; includeSelectors?: boolean }[];
  patches?: { target: { kind: string; name: string }; patch: string }[];
}

const accessKinds = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/** Everything in `infra/kubernetes`, or in an overlay of it, as `kubectl apply -k` would send it. */
export function infraManifests(folder = join(checkout, "infra/kubernetes")): KubeObject[] {
  return kustomize(folder);
}

/** The part of it that gives a sync worker its rights, with its namespace. */
export function accessManifests(folder?: string): KubeObject[] {
  return infraManifests(folder).filter(({ kind }) => kind === "Namespace" || accessKinds.includes(kind));
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

/** The part of kustomize that `infra/kubernetes` uses; anything else is an error. */
function kustomize(folder: string): KubeObject[] {
  const { resources = [], labels = [], patches = [] } = readKustomization(join(folder, "kustomization.yaml"));
  const objects = resources.flatMap((resource) => {
    const at = join(folder, resource);
    if (statSync(at).isDirectory()) return kustomize(at);
    return parseAllDocuments(readFileSync(at, "utf8")).map((document) => document.toJS() as KubeObject);
  });
  for (const { target, patch } of patches) {
    const patched = objects.find(
      ({ kind, metadata }) => kind === target.kind && metadata.name === target.name,
    );
    if (patched === undefined) throw new Error(`${folder}: no ${target.kind} ${target.name} to patch`);
    for (const operation of parse(patch) as JsonPatchOperation[]) apply(patched, operation);
  }
  return labels.reduce(
    (labelled, { pairs, includeSelectors = false }) =>
      labelled.map((object) => withLabels(object, pairs, includeSelectors)),
    objects,
  );
}

function readKustomization(path: string): Kustomization {
  const known = new Set(["apiVersion", "kind", "resources", "labels", "patches"]);
  const kustomization = parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  const unknown = Object.keys(kustomization).filter((key) => !known.has(key));
  if (unknown.length > 0) throw new Error(`${path}: this test does not know what ${unknown.join(", ")} does`);
  return kustomization as Kustomization;
}

interface JsonPatchOperation {
  op: string;
  path: string;
  value: unknown;
}

/** RFC 6902 sections 4.1 and 4.3 at the end, or at an index, of an array, which is all that the overlays do. */
function apply(object: KubeObject, { op, path, value }: JsonPatchOperation): void {
  let list: unknown = object;
  for (const step of path.split("/").slice(1, -1)) list = (list as Record<string, unknown>)[step];
  const last = path.split("/").at(-1)!;
  if (op === "add" && last === "-" && Array.isArray(list)) list.push(value);
  else if (op === "replace" && Array.isArray(list) && list[Number(last)] !== undefined)
    list[Number(last)] = value;
  else throw new Error(`this test does not know what ${op} at ${path} does`);
}

function withLabels(object: KubeObject, pairs: Record<string, string>, selectors: boolean): KubeObject {
  const add = <Metadata extends { labels?: Record<string, string> }>(metadata: Metadata) => ({
    ...metadata,
    labels: { ...metadata.labels, ...pairs },
  });
  const labelled = { ...object, metadata: add(object.metadata) };
  if (!selectors || object.kind !== "Deployment") return labelled;
  const { selector, template, ...spec } = object.spec as {
    selector: { matchLabels?: Record<string, string> };
    template: { metadata?: { labels?: Record<string, string> } };
  };
  const matchLabels = { ...selector.matchLabels, ...pairs };
  return {
    ...labelled,
    spec: {
      ...spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: add(template.metadata ?? {}) },
    },
  };
}
