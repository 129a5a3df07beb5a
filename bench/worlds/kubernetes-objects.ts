import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { ApiClient } from "../../test/e2e/servers/kubernetes/api-client.ts";
import {
  importedSlice,
  type KubeObject,
  namespace,
  serviceImport,
} from "../../test/e2e/servers/kubernetes/objects.ts";

const WRITERS = 8;

/**
 * What an MCS implementation keeps in one cluster of a clusterset: the ServiceImports, and for headless
 * services the EndpointSlices imported from every cluster.
 */
export function importObjects(snapshots: readonly ClusterSnapshot[]): {
  readonly namespaces: KubeObject[];
  readonly objects: KubeObject[];
} {
  const [{ namespaces, imports }] = snapshots as [ClusterSnapshot];
  const objects: KubeObject[] = [];
  for (const [key, { type, ips, ports }] of Object.entries(imports)) {
    const [space, name] = key.split("/") as [string, string];
    objects.push(serviceImport(space, name, { type, ips, ports }));
    if (type !== "Headless") continue;
    for (const { clusterId, exports } of snapshots) {
      for (const group of Object.values(exports[key]?.endpoints ?? {})) {
        const endpoints = Object.values(group.members).map(({ address, hostname }) => ({
          addresses: [address],
          hostname,
          conditions: { ready: true },
        }));
        objects.push(importedSlice(space, name, clusterId, { ports: group.ports, endpoints }));
      }
    }
  }
  return { namespaces: Object.keys(namespaces).map(namespace), objects };
}

/** Writes objects to an API server, several at a time. */
export async function applyObjects(admin: ApiClient, objects: readonly KubeObject[]): Promise<void> {
  const queue = [...objects];
  const write = async () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) await admin.apply(next);
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}
