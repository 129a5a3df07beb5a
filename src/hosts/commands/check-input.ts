import { readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { UsageError } from "../../config/values.ts";
import { type ExtractOptions, extractSnapshot } from "../../extract/extract.ts";
import { ClusterIdError, identifyObject, type KubernetesObject } from "../../extract/objects.ts";
import type { ClusterFinding } from "../../merge/clusterset.ts";
import { parseSnapshot } from "../../snapshot/parse.ts";
import type { ClusterSnapshot, ClusterZone } from "../../snapshot/schema.ts";
import { ManifestDirectory, type ManifestObject } from "../../worker/manifests.ts";

/** One cluster to check. */
export interface CheckInput {
  readonly snapshot: ClusterSnapshot;
  /** Problems of the manifests themselves, with file, line and column. */
  readonly problems: readonly string[];
  /** What the manifests have beside what a snapshot uses: `3 Deployment (apps/v1)`. */
  readonly ignored: readonly string[];
  /** `file:line:column` of the finding's object, if it is from a manifest. */
  readonly locate: (finding: ClusterFinding) => string | undefined;
}

/**
 * Reads folders of manifests, and files with one snapshot each as JSON. The cluster id of manifests is `clusterId`, else
 * from the manifests (for example a ClusterProperty), else the folder's name. `clusterZone` is the own zone of
 * clusters from manifests; a snapshot contains its own.
 * @throws {UsageError} if an input cannot be read or is not a snapshot
 */
export async function readCheckInputs(
  inputs: readonly string[],
  clusterId: string | undefined,
  clusterZone: ClusterZone | undefined,
): Promise<CheckInput[]> {
  if (clusterId !== undefined && inputs.length > 1)
    throw new UsageError("--cluster-id names one cluster: give one input, or use the folders' names");
  const read: CheckInput[] = [];
  for (const input of inputs) read.push(await readCheckInput(input, clusterId, clusterZone));
  return read;
}

async function readCheckInput(
  input: string,
  clusterId: string | undefined,
  clusterZone: ClusterZone | undefined,
): Promise<CheckInput> {
  try {
    if (!statSync(input).isDirectory()) {
      const snapshot = parseSnapshot(JSON.parse(readFileSync(input, "utf8")));
      const named = clusterId === undefined ? snapshot : { ...snapshot, clusterId };
      return { snapshot: named, problems: [], ignored: [], locate: () => undefined };
    }
    const { objects, problems, ignored } = await new ManifestDirectory(input).read();
    if (objects.length === 0 && problems.length === 0)
      throw new UsageError("it has no manifest (*.yaml, *.yml, *.json) of a kind that the worker reads");
    return {
      snapshot: extractNamed(
        objects.map(({ object }) => object),
        { clusterId, clusterZone },
        basename(resolve(input)),
      ),
      problems: problems.map(
        ({ file, line, column, message }) => `${join(input, file)}:${line}:${column}: ${message}`,
      ),
      ignored: Array.from(
        Map.groupBy(ignored, (kind) => kind),
        ([kind, { length }]) => `${length} ${kind}`,
      ),
      locate: locator(input, objects),
    };
  } catch (error) {
    throw new UsageError(`${input}: ${(error as Error).message}`);
  }
}

function extractNamed(
  objects: readonly KubernetesObject[],
  options: ExtractOptions,
  folder: string,
): ClusterSnapshot {
  try {
    return extractSnapshot(objects, options);
  } catch (error) {
    if (!(error instanceof ClusterIdError) || error.code !== "CLUSTER_ID_UNKNOWN") throw error;
    return extractSnapshot(objects, { ...options, clusterId: folder });
  }
}

function locator(input: string, objects: readonly ManifestObject[]): CheckInput["locate"] {
  const places = new Map<string, string>();
  for (const { object, file, line, column } of objects) {
    const identity = identifyObject(object);
    if (identity === undefined) continue;
    const place = `${join(input, file)}:${line}:${column}`;
    places.set(`${identity.kind} ${identity.namespace}/${identity.name}`, place);
  }
  return ({ kind, namespace = "", name }) => places.get(`${kind} ${namespace}/${name}`);
}
