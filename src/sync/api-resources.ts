import { ABOUT_GROUP, MULTICLUSTER_GROUPS, type ObjectKind } from "../extract/identity.ts";
import type { KubernetesObject, Node, Pod } from "../extract/objects.ts";
import { ApiError, type ApiServer, type GetText } from "./api-server.ts";

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
  readonly metadataOnly: boolean;
  /** Whether the worker continues without the resource if RBAC forbids it. */
  readonly optional: boolean;
  /** Removes unused fields from an object, for kinds with many or large objects. */
  readonly reduce?: (object: KubernetesObject) => KubernetesObject;
}

const BUILT_IN = { versions: ["v1"], builtIn: true, metadataOnly: false, optional: false };
const CUSTOM = { builtIn: false, metadataOnly: false, optional: false };

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

/** Nodes with their addresses; by default only `metadata` is requested. */
export function withNodeAddresses(resource: ApiResource): ApiResource {
  return resource.kind === "Node" ? { ...resource, metadataOnly: false, reduce: reduceNode } : resource;
}

function reduceNode(object: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata = {}, status = {} } = object as Node;
  const reduced: Node = {
    apiVersion,
    kind,
    metadata: keep(metadata, ["name", "resourceVersion", "deletionTimestamp", "labels"]),
    status: keep(status, ["addresses", "conditions"]),
  };
  return reduced;
}

function keep(part: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(part).filter(([name]) => names.includes(name)));
}

function reducePod(object: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata = {}, status = {} } = object as Pod;
  const reduced: Pod = {
    apiVersion,
    kind,
    // The informer detects changes by the resource version.
    metadata: keep(metadata, ["name", "namespace", "resourceVersion", "deletionTimestamp"]),
    status: keep(status, ["phase", "podIP", "podIPs"]),
  };
  return reduced;
}

/** The name of a resource with its group, as RBAC and kubectl write it: `services`, `serviceexports.multicluster.x-k8s.io`. */
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
export function discoverVersions(api: ApiServer, signal: AbortSignal): Promise<Discovery> {
  return api.session(signal, async (get) => {
    const read = async (path: string) => JSON.parse(await get(path)) as unknown;
    const conclusive = await isReady(get);
    const { groups } = (await read("/apis")) as {
      groups: { name: string; versions: { version: string }[] }[];
    };
    const served = new Map(
      groups.map(({ name, versions }) => [name, versions.map(({ version }) => version)]),
    );
    const resourcesOf = new Map<string, Promise<Set<string>>>();
    const versions = new Map<string, string>();
    for (const { group, resource, versions: wanted, builtIn } of API_RESOURCES) {
      if (builtIn) continue;
      for (const version of wanted) {
        if (!served.get(group)?.includes(version)) continue;
        const path = `/apis/${group}/${version}`;
        const resources = resourcesOf.get(path) ?? listResources(read, path);
        resourcesOf.set(path, resources);
        if (!(await resources).has(resource)) continue;
        versions.set(`${resource}.${group}`, version);
        break;
      }
    }
    return { versions, conclusive, misnamed: served.has(MISNAMED_GROUP) };
  });
}

async function listResources(read: (path: string) => Promise<unknown>, path: string): Promise<Set<string>> {
  try {
    const { resources } = (await read(path)) as { resources: { name: string }[] };
    return new Set(resources.map(({ name }) => name));
  } catch (error) {
    // The list of groups and the groups themselves do not change at the same moment.
    if (error instanceof ApiError && error.statusCode === 404) return new Set();
    throw error;
  }
}

async function isReady(get: GetText): Promise<boolean> {
  try {
    await get("/readyz", "*/*");
    return true;
  } catch (error) {
    // 401, 403 and 404: an API server that hides its readiness from this client.
    if (error instanceof ApiError) return [401, 403, 404].includes(error.statusCode);
    throw error;
  }
}
