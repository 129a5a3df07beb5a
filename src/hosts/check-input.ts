import { readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { ClusterIdError } from "../extract/cluster-identity.ts";
import { extractSnapshot } from "../extract/extract.ts";
import { identifyObject } from "../extract/identity.ts";
import type { KubernetesObject } from "../extract/objects.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import { parseSnapshot } from "../snapshot/parse.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import { type ManifestObject, readManifests } from "../sync/manifests.ts";
import { UsageError } from "./usage-error.ts";

/** One cluster to check. */
export interface CheckInput {
  readonly snapshot: ClusterSnapshot;
  /** What is wrong with the manifests themselves, with file, line and column. */
  readonly problems: readonly string[];
  /** `file:line:column` of the object that a finding is about, where it came from a manifest. */
  readonly locate: (finding: ClusterFinding) => string | undefined;
}

/**
 * Reads a folder of manifests, or a file with one snapshot as JSON. Manifests may name their cluster, by
 * a ClusterProperty for one; else it is called `clusterId`, else like its folder.
 * @throws {UsageError} where the input cannot be read, or is no snapshot
 */
export async function readCheckInput(input: string, clusterId: string | undefined): Promise<CheckInput> {
  try {
    if (!statSync(input).isDirectory()) {
      const snapshot = parseSnapshot(JSON.parse(readFileSync(input, "utf8")));
      const named = clusterId === undefined ? snapshot : { ...snapshot, clusterId };
      return { snapshot: named, problems: [], locate: () => undefined };
    }
    const { objects, problems } = await readManifests(input);
    if (objects.length === 0 && problems.length === 0)
      throw new UsageError("there is no manifest (*.yaml, *.yml, *.json) of a kind that counts in it");
    return {
      snapshot: extractNamed(
        objects.map(({ object }) => object),
        clusterId,
        basename(resolve(input)),
      ),
      problems: problems.map(
        ({ file, line, column, message }) => `${join(input, file)}:${line}:${column}: ${message}`,
      ),
      locate: locator(input, objects),
    };
  } catch (error) {
    throw new UsageError(`${input}: ${(error as Error).message}`);
  }
}

function extractNamed(
  objects: readonly KubernetesObject[],
  clusterId: string | undefined,
  folder: string,
): ClusterSnapshot {
  if (clusterId !== undefined) return extractSnapshot(objects, { clusterId });
  try {
    return extractSnapshot(objects);
  } catch (error) {
    if (!(error instanceof ClusterIdError) || error.code !== "CLUSTER_ID_UNKNOWN") throw error;
    return extractSnapshot(objects, { clusterId: folder });
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
