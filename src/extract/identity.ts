import { readLabel, readText } from "./fields.ts";
import type { EndpointSlice, KubernetesObject } from "./objects.ts";

/** The label that ties an EndpointSlice to a Service of its own cluster. */
export const SERVICE_NAME_LABEL = "kubernetes.io/service-name";
/** The label that ties an EndpointSlice to a ServiceImport (KEP-1645). */
export const MULTICLUSTER_SERVICE_NAME_LABEL = "multicluster.kubernetes.io/service-name";
/** The label that names the cluster that an imported EndpointSlice's endpoints run in (KEP-1645). */
export const SOURCE_CLUSTER_LABEL = "multicluster.kubernetes.io/source-cluster";

/** API groups that serve ServiceExport and ServiceImport; the first that has an object of a name wins. */
export const MULTICLUSTER_GROUPS: readonly string[] = ["multicluster.x-k8s.io", "net.gke.io"];
/** The API group of ClusterProperty (KEP-2149). */
export const ABOUT_GROUP = "about.k8s.io";

/** How objects of a kind are written. */
export interface KnownKind {
  /** API groups that count; "" for the core group. The first is the one to name. */
  readonly groups: readonly string[];
  /** The version to name; every version counts. */
  readonly version: string;
  readonly namespaced: boolean;
  /** Whether the kind comes with a CRD, and so means the same in whatever group somebody writes it. */
  readonly custom: boolean;
}

const NAMESPACED = { version: "v1", namespaced: true, custom: false };
const CLUSTER_WIDE = { version: "v1", namespaced: false, custom: false };
const MULTICLUSTER = { groups: MULTICLUSTER_GROUPS, version: "v1beta1", namespaced: true, custom: true };

const KINDS: ReadonlyMap<string, KnownKind> = new Map([
  ["Namespace", { groups: [""], ...CLUSTER_WIDE }],
  ["Node", { groups: [""], ...CLUSTER_WIDE }],
  ["Service", { groups: [""], ...NAMESPACED }],
  ["EndpointSlice", { groups: ["discovery.k8s.io"], ...NAMESPACED }],
  ["ServiceExport", MULTICLUSTER],
  ["ServiceImport", MULTICLUSTER],
  ["Pod", { groups: [""], ...NAMESPACED }],
  ["ClusterProperty", { groups: [ABOUT_GROUP], ...CLUSTER_WIDE, custom: true }],
]);

/** The names of all kinds that a snapshot is made of. */
export const KIND_NAMES: readonly string[] = [...KINDS.keys()];

/** A kind that a snapshot is made of, by its name. */
export function findKind(name: string): KnownKind | undefined {
  return KINDS.get(name);
}

/** The kinds that a snapshot is made of. */
export type ObjectKind =
  | "Namespace"
  | "Node"
  | "Service"
  | "EndpointSlice"
  | "ServiceExport"
  | "ServiceImport"
  | "Pod"
  | "ClusterProperty";

/** What tells one object from every other; the version of its API group does not count. */
export interface ObjectIdentity {
  readonly kind: ObjectKind;
  readonly group: string;
  /** "" for kinds that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
}

/** A Service or ServiceImport, in the slice's namespace, that an EndpointSlice holds endpoints of. */
export interface SliceOwner {
  /**
   * `local`: a Service of this cluster. `imported`: a ServiceImport, so endpoints of another cluster.
   * `foreign`: another cluster's endpoints, joined to a Service of this one; the Service does not export them.
   */
  readonly side: "local" | "imported" | "foreign";
  readonly service: string;
}

/**
 * The identity of an object of a kind that a snapshot is made of, undefined for every other. As kubectl
 * does, an object without a namespace is taken into "default".
 */
export function identifyObject(object: KubernetesObject | null | undefined): ObjectIdentity | undefined {
  const kind = readText(object?.kind);
  const apiVersion = readText(object?.apiVersion);
  if (kind === undefined || apiVersion === undefined) return undefined;
  const known = KINDS.get(kind);
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  if (!known?.groups.includes(group)) return undefined;
  const name = readText(object?.metadata?.name);
  if (name === undefined) return undefined;
  const namespace = known.namespaced ? (readText(object?.metadata?.namespace) ?? "default") : "";
  return { kind: kind as ObjectKind, group, namespace, name };
}

/**
 * Whose endpoints a slice holds. A slice with one of the multicluster labels never counts as what a Service
 * exports, although implementations (Cilium, GKE) also label it with the Service that they derive. A slice
 * that nobody owns lacks a label, which is named.
 */
export function findSliceOwners(slice: EndpointSlice): {
  readonly owners: readonly SliceOwner[];
  readonly missingLabel?: string;
} {
  const labels = slice.metadata?.labels;
  const imported = readLabel(labels, MULTICLUSTER_SERVICE_NAME_LABEL);
  const local = readLabel(labels, SERVICE_NAME_LABEL);
  const fromElsewhere = imported !== undefined || readLabel(labels, SOURCE_CLUSTER_LABEL) !== undefined;
  const owners: SliceOwner[] = [];
  if (imported) owners.push({ side: "imported", service: imported });
  if (local) owners.push({ side: fromElsewhere ? "foreign" : "local", service: local });
  return owners.length > 0
    ? { owners }
    : { owners, missingLabel: fromElsewhere ? MULTICLUSTER_SERVICE_NAME_LABEL : SERVICE_NAME_LABEL };
}
