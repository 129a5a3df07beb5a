import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { ensureTool } from "../tools/tools.ts";
import { waitFor } from "../wait.ts";
import type { ApiClient } from "./api-client.ts";
import type { KubeObject } from "./objects.ts";

/** Installs the CRDs of the MCS API and of ClusterProperty, and waits until the API server serves them. */
export async function installCrds(client: ApiClient): Promise<void> {
  await client.apply(...(await manifestsAt(filesIn(await ensureTool("mcsCrds")))), clusterPropertyCrd());
  for (const version of ["v1beta1", "v1alpha1"])
    for (const kind of ["serviceimports", "serviceexports"])
      await untilServed(client, `multicluster.x-k8s.io/${version}/${kind}`);
  await untilServed(client, "about.k8s.io/v1beta1/clusterproperties");
}

function manifestsAt(paths: readonly string[]): Promise<KubeObject[]> {
  return Promise.all(paths.map(async (path) => parse(await readFile(path, "utf8"))));
}

/** The manifests of the CRDs whose objects the manifests of the gateway may have. */
export async function operatorCrds(): Promise<string[]> {
  const folders = ["certManagerCrds", "gatewayApiCrds", "prometheusCrds"] as const;
  return (await Promise.all(folders.map(async (name) => filesIn(await ensureTool(name))))).flat();
}

export function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .map((file) => join(folder, file));
}

/** Whether the API server serves a version of a CRD, such as `serviceimports.multicluster.x-k8s.io`. */
export async function setServed(
  client: ApiClient,
  crd: string,
  version: string,
  served: boolean,
): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd}`;
  const { spec } = (await client.api("GET", path)) as unknown as { spec: { versions: { name: string }[] } };
  const index = spec.versions.findIndex(({ name }) => name === version);
  if (index < 0) throw new Error(`${crd} has no version ${version}`);
  const patch = [{ op: "replace", path: `/spec/versions/${index}/served`, value: served }];
  await client.api("PATCH", path, patch, "application/json-patch+json");
}

async function untilServed(client: ApiClient, resource: string): Promise<void> {
  await waitFor(`${resource} served`, async () => {
    await client.api("GET", `/apis/${resource}?limit=1`);
    return true;
  });
}

/** The shape that KEP-2149 gives ClusterProperty; about-api has no Go module with the manifest. */
function clusterPropertyCrd(): KubeObject {
  const spec = {
    type: "object",
    required: ["value"],
    properties: { value: { type: "string", minLength: 1 } },
  };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  const version = { served: true, schema };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: "clusterproperties.about.k8s.io",
      annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/2149" },
    },
    spec: {
      group: "about.k8s.io",
      scope: "Cluster",
      names: { kind: "ClusterProperty", plural: "clusterproperties", singular: "clusterproperty" },
      versions: [
        { name: "v1beta1", storage: true, ...version },
        { name: "v1alpha1", storage: false, ...version },
      ],
    },
  };
}

interface CustomResourceDefinition extends KubeObject {
  spec: { group: string; names: { plural: string }; versions: { name: string; storage: boolean }[] };
}

/** Installs the MCS API under GKE's group, with the MCS API's schemas: GKE publishes none. */
export async function installGkeCrds(admin: ApiClient): Promise<void> {
  for (const manifest of await manifestsAt(filesIn(await ensureTool("mcsCrds")))) {
    const crd = manifest as CustomResourceDefinition;
    const { plural } = crd.spec.names;
    const stored = crd.spec.versions.find(({ storage }) => storage);
    await admin.apply({
      ...crd,
      metadata: { name: `${plural}.net.gke.io` },
      spec: { ...crd.spec, group: "net.gke.io", versions: [{ ...stored, name: "v1", served: true }] },
    } as KubeObject);
    await untilServed(admin, `net.gke.io/v1/${plural}`);
  }
}
