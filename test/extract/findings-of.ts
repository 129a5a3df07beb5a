import { extractSnapshot } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { namespace, ofService, service, serviceExport, slice } from "./objects.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The findings of a cluster with its own zone and the namespace `shop`, as `<key>: <message>`. */
export function findingsOf(objects: readonly KubernetesObject[]): string[] {
  const clusterZone = { name: "cluster.local", pods: "verified" } as const;
  const { findings } = extractSnapshot([namespace("shop"), ...objects], { clusterId: "east", clusterZone });
  return Object.entries(findings).map(([key, { message }]) => `${key}: ${message}`);
}

/** The exported Service `shop/web`. */
export function exportedWeb(spec: Fields = {}, status: Fields = {}): KubernetesObject[] {
  return [service("shop/web", spec, status), serviceExport("shop/web")];
}

/** The exported Service `shop/web` with the EndpointSlice `shop/one`. */
export function webWithSlice(endpoints: unknown, fields: Fields = {}): KubernetesObject[] {
  return [...exportedWeb(), slice("shop/one", ofService("web"), endpoints, fields)];
}
