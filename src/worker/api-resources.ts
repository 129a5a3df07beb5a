import { request } from "undici";
import type { KubernetesObject, Node, Pod } from "../extract/objects.ts";
import { ABOUT_GROUP, MULTICLUSTER_GROUPS, type ObjectKind } from "../extract/objects.ts";
import { readBody } from "../outgoing/read-body.ts";
import type { ApiConnection } from "./api-connection.ts";

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

/** An answer of the API server other than 200, or an unusable one. `statusCode` as in the client's own errors. */
export class ApiError extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, path: string, message: string) {
    super(`GET ${path}: ${statusCode} ${message}`);
    this.statusCode = statusCode;
  }
}

/** A whole list of one resource. */
interface ObjectList {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
}

const PAGE_SIZE = 500;
const REQUEST_TIMEOUT = 60_000;
const MOST_BYTES = 256 * 1024 * 1024;

/** Reads the body of a path; `accept` is the requested media type, by default JSON. */
type GetText = (path: string, accept?: string) => Promise<string>;

/** Reads from an API server with the credentials of a kubeconfig. */
export class ApiServer {
  readonly connection: ApiConnection;
  readonly #pageSize: number;

  constructor(connection: ApiConnection, pageSize = PAGE_SIZE) {
    this.connection = connection;
    this.#pageSize = pageSize;
  }

  /** Scheme, host and path of the API server, without a slash at the end. */
  get url(): string {
    return this.connection.url;
  }

  /**
   * Runs several requests over one connection.
   * @throws {ApiError} for answers other than 200, and the errors of undici.
   */
  async session<Result>(signal: AbortSignal, use: (get: GetText) => Promise<Result>): Promise<Result> {
    const { dispatcher, rejected } = await this.connection.open();
    try {
      return await use(async (path, accept = "application/json") => {
        const answer = await request(this.url + path, {
          headers: { accept },
          dispatcher,
          signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT)]),
        });
        const tooLong = () => new ApiError(200, path, `the answer has more than ${MOST_BYTES} bytes`);
        const text = (await readBody(answer.body, MOST_BYTES, tooLong)).toString("utf8");
        if (answer.statusCode === 401) rejected();
        if (answer.statusCode !== 200) throw new ApiError(answer.statusCode, path, describeStatus(text));
        return text;
      });
    } finally {
      void dispatcher.destroy();
    }
  }

  /**
   * Lists a whole resource, page by page. If the pages expire during the list (410), it starts again
   * without pages, so that the result always shows one moment.
   */
  list(path: string, accept: string, signal: AbortSignal): Promise<ObjectList> {
    return this.session(signal, async (get) => {
      try {
        return await this.#listPages(get, path, accept, this.#pageSize);
      } catch (error) {
        if (!(error instanceof ApiError) || error.statusCode !== 410) throw error;
        return this.#listPages(get, path, accept, undefined);
      }
    });
  }

  async #listPages(
    get: GetText,
    path: string,
    accept: string,
    pageSize: number | undefined,
  ): Promise<ObjectList> {
    const items: KubernetesObject[] = [];
    let token: string | undefined;
    for (;;) {
      const query = new URLSearchParams();
      if (pageSize !== undefined) query.set("limit", String(pageSize));
      if (token !== undefined) query.set("continue", token);
      const page = JSON.parse(await get(query.size === 0 ? path : `${path}?${query}`, accept)) as {
        items?: KubernetesObject[] | null;
        metadata?: { resourceVersion?: string; continue?: string };
      };
      for (const item of page.items ?? []) items.push(item);
      token = page.metadata?.continue;
      if (!token) return { items, resourceVersion: page.metadata?.resourceVersion ?? "" };
    }
  }
}

// The API server explains errors in a Status object; proxies in front of it do not.
function describeStatus(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string") return message;
  } catch {
    // Not JSON: the message quotes the body unchanged.
  }
  return text.slice(0, 200);
}
