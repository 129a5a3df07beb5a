import type { KubernetesObject, Pod } from "../extract/objects.ts";
import { ABOUT_GROUP, MULTICLUSTER_GROUPS, type ObjectKind } from "../extract/objects.ts";
import { ApiError, type ApiServer } from "./api-server.ts";

/** A resource of the Kubernetes API that a worker watches. */
export interface ApiResource {
  readonly kind: ObjectKind;
  /** "" for the core group. */
  readonly group: string;
  /** Plural name. */
  readonly resource: string;
  /** Versions to read, the preferred one first. */
  readonly versions: readonly string[];
  /** Whether every Kubernetes has the resource, so that it needs no discovery. */
  readonly builtIn: boolean;
  /** Whether the worker requests only `metadata`. */
  readonly metadataOnly?: boolean;
  /** Whether the worker continues without the resource if RBAC forbids it. */
  readonly optional?: boolean;
  /** Removes unused fields from an object, for kinds with many or large objects. */
  readonly reduce?: (object: Pod) => KubernetesObject;
}

const BUILT_IN = { versions: ["v1"], builtIn: true };
const CUSTOM = { builtIn: false };

const reducePod = reduceTo(
  ["name", "namespace", "resourceVersion", "deletionTimestamp"],
  ["phase", "podIP", "podIPs"],
);

/** The resources that a snapshot uses. */
export const API_RESOURCES: readonly ApiResource[] = [
  { kind: "Namespace", group: "", resource: "namespaces", ...BUILT_IN, metadataOnly: true },
  { kind: "Node", group: "", resource: "nodes", ...BUILT_IN, metadataOnly: true, optional: true },
  { kind: "Service", group: "", resource: "services", ...BUILT_IN },
  { kind: "Pod", group: "", resource: "pods", ...BUILT_IN, reduce: reducePod },
  { kind: "EndpointSlice", group: "discovery.k8s.io", resource: "endpointslices", ...BUILT_IN },
  ...MULTICLUSTER_GROUPS.flatMap((group): ApiResource[] => {
    const versions = group === "net.gke.io" ? ["v1"] : ["v1beta1", "v1alpha1"];
    return [
      { kind: "ServiceExport", group, resource: "serviceexports", versions, ...CUSTOM },
      { kind: "ServiceImport", group, resource: "serviceimports", versions, ...CUSTOM },
    ];
  }),
  {
    kind: "ClusterProperty",
    group: ABOUT_GROUP,
    resource: "clusterproperties",
    versions: ["v1", "v1beta1", "v1alpha1"],
    ...CUSTOM,
  },
];

const reduceNode = reduceTo(
  ["name", "resourceVersion", "deletionTimestamp", "labels"],
  ["addresses", "conditions"],
);

/** Nodes with their addresses, which exports need; by default only `metadata` is requested. */
export function withNodeAddresses(resource: ApiResource): ApiResource {
  return resource.kind === "Node"
    ? { ...resource, metadataOnly: false, optional: false, reduce: reduceNode }
    : resource;
}

/** Reduces objects to these fields of their metadata and their status. */
function reduceTo(metadata: readonly string[], status: readonly string[]): (object: Pod) => Pod {
  const keep = (part: object = {}, names: readonly string[]) =>
    Object.fromEntries(Object.entries(part).filter(([name]) => names.includes(name)));
  return ({ apiVersion, kind, ...object }) => ({
    apiVersion,
    kind,
    metadata: keep(object.metadata, metadata),
    status: keep(object.status, status),
  });
}

/**
 * The name of a resource with its group, as RBAC and kubectl write it: `services`,
 * `serviceexports.multicluster.x-k8s.io`.
 */
export function nameOf({ group, resource }: ApiResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** The path of a resource's collection over all namespaces. */
export function resourcePath({ group, resource }: ApiResource, version: string): string {
  return group === "" ? `/api/${version}/${resource}` : `/apis/${group}/${version}/${resource}`;
}

/** The resources that an API server serves. */
export interface Discovery {
  /** The best served version by `<resource>.<group>`; absent if none is served. */
  readonly versions: ReadonlyMap<string, string>;
  /**
   * Whether a missing resource really is not served: an API server that is starting does not serve CRDs
   * yet, and is not ready.
   */
  readonly conclusive: boolean;
  /** Whether it serves the API group of KEP-1645's examples, which no implementation uses. */
  readonly misnamed: boolean;
}

/** The API group of KEP-1645's examples. */
export const MISNAMED_GROUP = "multicluster.k8s.io";

/**
 * Finds the served versions of the custom resources.
 * @throws {ApiError} and the errors of undici.
 */
export async function discoverVersions(api: ApiServer, signal: AbortSignal): Promise<Discovery> {
  const conclusive = await isReady(api, signal);
  const { groups } = await api.json<{
    groups: { name: string; versions: { version: string }[] }[];
  }>("/apis", signal);
  const served = new Map(groups.map(({ name, versions }) => [name, versions.map(({ version }) => version)]));
  const resourcesOf = new Map<string, ReadonlySet<string>>();
  const versions = new Map<string, string>();
  for (const { group, resource, versions: wanted, builtIn } of API_RESOURCES) {
    if (builtIn) continue;
    for (const version of wanted.filter((one) => served.get(group)?.includes(one))) {
      const path = `/apis/${group}/${version}`;
      const resources = resourcesOf.get(path) ?? (await listResources(api, path, signal));
      resourcesOf.set(path, resources);
      if (!resources.has(resource)) continue;
      versions.set(`${resource}.${group}`, version);
      break;
    }
  }
  return { versions, conclusive, misnamed: served.has(MISNAMED_GROUP) };
}

async function listResources(
  api: ApiServer,
  path: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  try {
    const { resources } = await api.json<{ resources: { name: string }[] }>(path, signal);
    return new Set(resources.map(({ name }) => name));
  } catch (error) {
    // The list of groups and the groups themselves do not change at the same moment.
    if (error instanceof ApiError && error.status === 404) return new Set();
    throw error;
  }
}

async function isReady(api: ApiServer, signal: AbortSignal): Promise<boolean> {
  try {
    await api.text("/readyz", signal, { accept: "*/*" });
    return true;
  } catch (error) {
    // 401, 403 and 404: an API server that hides its readiness from this client.
    if (error instanceof ApiError) return [401, 403, 404].includes(error.status);
    throw error;
  }
}
