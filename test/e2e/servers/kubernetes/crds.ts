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
  const manifests = await Promise.all(
    filesIn(await ensureTool("mcsCrds")).map(
      async (path) => parse(await readFile(path, "utf8")) as KubeObject,
    ),
  );
  await client.apply(...manifests, clusterPropertyCrd());
  await Promise.all([
    waitUntilServed(client, "/apis/multicluster.x-k8s.io/v1beta1/serviceimports"),
    waitUntilServed(client, "/apis/multicluster.x-k8s.io/v1beta1/serviceexports"),
    waitUntilServed(client, "/apis/multicluster.x-k8s.io/v1alpha1/serviceimports"),
    waitUntilServed(client, "/apis/multicluster.x-k8s.io/v1alpha1/serviceexports"),
    waitUntilServed(client, "/apis/about.k8s.io/v1beta1/clusterproperties"),
  ]);
}

/** Installs the CRD of PodMonitors, and waits until the API server serves it. */
export async function installPodMonitorCrd(client: ApiClient): Promise<void> {
  const manifests = (await operatorCrds()).filter((path) => path.endsWith("_podmonitors.yaml"));
  if (manifests.length !== 1) throw new Error(`PodMonitor has ${manifests.length} CRDs`);
  await client.apply(parse(await readFile(manifests[0]!, "utf8")) as KubeObject);
  await waitUntilServed(client, "/apis/monitoring.coreos.com/v1/podmonitors");
}

/** The manifests of the CRDs whose objects the manifests of the gateway may have. */
export async function operatorCrds(): Promise<string[]> {
  const folders = ["certManagerCrds", "gatewayApiCrds", "prometheusCrds"] as const;
  return (await Promise.all(folders.map(async (name) => filesIn(await ensureTool(name))))).flat();
}

/** The paths of the files in a folder, in order. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .map((file) => join(folder, file));
}

/**
 * Lets the API server serve a version of a CRD, such as `serviceimports.multicluster.x-k8s.io`, or no longer.
 */
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

function waitUntilServed(client: ApiClient, path: string): Promise<true> {
  return waitFor(`${path} served`, async () => {
    await client.api("GET", `${path}?limit=1`);
    return true as const;
  });
}

/**
 * The shape that KEP-2149 gives ClusterProperty; about-api publishes no Go module to take the manifest from.
 */
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
