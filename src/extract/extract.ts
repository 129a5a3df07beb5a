import type { ClusterSnapshot } from "../snapshot/schema.ts";
import { type ExtractOptions, SnapshotAssembler } from "./assembler.ts";
import { compareText } from "./fields.ts";
import { identifyObject } from "./identity.ts";
import type { KubernetesObject } from "./objects.ts";

/**
 * The snapshot of a cluster's objects; their order does not matter. Objects of other kinds are ignored.
 * If an object appears in several versions (an API server may serve two), one counts: the choice depends on
 * its `apiVersion`, then on its JSON text.
 * @throws {ClusterIdError} if neither the options nor the objects contain a cluster id.
 */
export function extractSnapshot(
  objects: Iterable<KubernetesObject>,
  options: ExtractOptions = {},
): ClusterSnapshot {
  const chosen = new Map<string, KubernetesObject>();
  for (const object of objects) {
    const identity = identifyObject(object);
    if (identity === undefined) continue;
    const key = JSON.stringify([identity.kind, identity.group, identity.namespace, identity.name]);
    const before = chosen.get(key);
    if (before === undefined || compareObjects(before, object) < 0) chosen.set(key, object);
  }
  const assembler = new SnapshotAssembler(options);
  for (const object of chosen.values()) assembler.upsert(object);
  return assembler.snapshot();
}

function compareObjects(left: KubernetesObject, right: KubernetesObject): number {
  return (
    compareText(String(left.apiVersion), String(right.apiVersion)) ||
    compareText(JSON.stringify(left), JSON.stringify(right))
  );
}
