import { editDistance } from "../dns/edit-distance.ts";
import { isClusterId } from "../snapshot/schema.ts";
import { compareText, quote, readBoundedText, readLabel, readMapping, readText } from "./fields.ts";
import type { Report } from "./findings.ts";

/**
 * The parts of Kubernetes objects that this folder reads. Leaves are `unknown` on purpose: the MCS CRDs
 * validate little, and manifests have no validation, so the functions in fields.ts read every leaf.
 */
export interface KubernetesObject {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: ObjectMeta;
}

/** `metadata` of any object. */
interface ObjectMeta {
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly uid?: unknown;
  readonly resourceVersion?: unknown;
  /** RFC 3339 text. */
  readonly creationTimestamp?: unknown;
  /** RFC 3339 text; present while the object is being deleted. */
  readonly deletionTimestamp?: unknown;
  readonly labels?: unknown;
  readonly annotations?: unknown;
}

/** The global properties that a Service and a ServiceImport have in common. */
interface ServiceProperties {
  /** A list of `{name, protocol, port, appProtocol}`, of a Service also `nodePort`. */
  readonly ports?: unknown;
  readonly sessionAffinity?: unknown;
  readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: unknown } };
  readonly internalTrafficPolicy?: unknown;
  readonly trafficDistribution?: unknown;
}

/** `v1` Service. */
export interface Service extends KubernetesObject {
  readonly spec?: ServiceProperties & {
    readonly type?: unknown;
    readonly clusterIP?: unknown;
    readonly clusterIPs?: unknown;
    readonly ipFamilies?: unknown;
    readonly externalIPs?: unknown;
    readonly externalTrafficPolicy?: unknown;
    readonly publishNotReadyAddresses?: unknown;
    readonly externalName?: unknown;
    /** Proposed (multi-label CNAME records), in manifests only: API servers drop it. */
    readonly name?: unknown;
  };
  /** `ingress` is a list of `{ip, hostname}`. */
  readonly status?: { readonly loadBalancer?: { readonly ingress?: unknown } };
}

/** `discovery.k8s.io/v1` EndpointSlice. */
export interface EndpointSlice extends KubernetesObject {
  /** IPv4, IPv6 or FQDN. */
  readonly addressType?: unknown;
  /** A list of `{name, protocol, port}`. */
  readonly ports?: unknown;
  /** A list of {@link SliceEndpoint}. */
  readonly endpoints?: unknown;
}

/** One element of an EndpointSlice's `endpoints`. */
export interface SliceEndpoint {
  readonly addresses?: unknown;
  readonly hostname?: unknown;
  readonly zone?: unknown;
  readonly nodeName?: unknown;
  readonly conditions?: {
    readonly ready?: unknown;
    readonly serving?: unknown;
    readonly terminating?: unknown;
  };
}

/** ServiceExport of `multicluster.x-k8s.io` or `net.gke.io`. */
export interface ServiceExport extends KubernetesObject {
  readonly spec?: { readonly exportedLabels?: unknown; readonly exportedAnnotations?: unknown };
  /** `clusters` is a list of `{cluster}` (kubernetes/enhancements#6329). */
  readonly status?: { readonly clusters?: unknown };
}

/** ServiceImport of `multicluster.x-k8s.io` or `net.gke.io`. */
export interface ServiceImport extends KubernetesObject {
  readonly spec?: ServiceProperties & { readonly type?: unknown; readonly ips?: unknown };
}

/** `v1` Node. */
export interface Node extends KubernetesObject {
  /** `addresses` is a list of `{type, address}`, `conditions` one of `{type, status}`. */
  readonly status?: { readonly addresses?: unknown; readonly conditions?: unknown };
}

/** `v1` Pod. */
export interface Pod extends KubernetesObject {
  /** `podIPs` is a list of `{ip}`. */
  readonly status?: { readonly phase?: unknown; readonly podIP?: unknown; readonly podIPs?: unknown };
}

/** ClusterProperty of `about.k8s.io` (KEP-2149). */
export interface ClusterProperty extends KubernetesObject {
  readonly spec?: { readonly value?: unknown };
}

/** From this length on a name may differ in two letters; shorter names are too similar to each other. */
const LONG_NAME = 9;

/**
 * The probably intended `kind` and `apiVersion` of an object. Undefined if the object counts as it is, and if
 * its kind is unrelated to ours: a Service of another API group, such as Knative's, is unrelated.
 */
export function suggestKind(object: KubernetesObject): string | undefined {
  const kind = readText(object.kind);
  const group = readGroup(object);
  if (kind === undefined || group === undefined) return undefined;
  const name = isKind(kind) ? kind : nearestKind(kind);
  if (name === undefined) return undefined;
  const known: KnownKind = KINDS[name];
  const rightGroup = known.groups.includes(group);
  if (name === kind ? rightGroup : !rightGroup && !known.custom) return undefined;
  if (!known.custom && isSomebodysOwn(group)) return undefined;
  return `kind ${name} of ${apiVersionOf(known)}`;
}

function apiVersionOf({ groups, version }: KnownKind): string {
  return groups[0] === "" ? version : `${groups[0]}/${version}`;
}

/** Groups of Kubernetes have no dot, as `apps`, or end with `.k8s.io`. */
function isSomebodysOwn(group: string): boolean {
  return group.includes(".") && !group.endsWith(".k8s.io");
}

function nearestKind(kind: string): ObjectKind | undefined {
  const written = kind.toLowerCase().replace(/ies$/, "y");
  const nearest = KIND_NAMES.map((name) => ({
    name,
    distance: editDistance(name.toLowerCase(), written, 2),
  })).sort((left, right) => left.distance - right.distance)[0]!;
  return nearest.distance <= (nearest.name.length < LONG_NAME ? 1 : 2) ? nearest.name : undefined;
}

/** The label that ties an EndpointSlice to a Service of its own cluster. */
export const SERVICE_NAME_LABEL = "kubernetes.io/service-name";
/** The label that ties an EndpointSlice to a ServiceImport (KEP-1645). */
export const MULTICLUSTER_SERVICE_NAME_LABEL = "multicluster.kubernetes.io/service-name";
/** The label that names the source cluster of an imported EndpointSlice (KEP-1645). */
export const SOURCE_CLUSTER_LABEL = "multicluster.kubernetes.io/source-cluster";

/**
 * The label that names what made an object, and its value on what the worker makes from the gateway's desired
 * state.
 */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
export const OWN_MANAGER = "clusterset-doh";

/**
 * Whether the worker made an object from the gateway's desired state: it says nothing about its cluster that
 * the gateway did not say first.
 */
export function isOwnObject({ metadata }: KubernetesObject): boolean {
  return readLabel(metadata?.labels, MANAGED_BY_LABEL) === OWN_MANAGER;
}

/**
 * API groups that serve ServiceExport and ServiceImport; if several have an object of one name, the first
 * group wins.
 */
export const MULTICLUSTER_GROUPS: readonly string[] = ["multicluster.x-k8s.io", "net.gke.io"];
/** The API group of ClusterProperty (KEP-2149). */
export const ABOUT_GROUP = "about.k8s.io";

/** The API groups, version and origin of a kind. */
interface KnownKind {
  /** API groups that count; "" for the core group. Messages name the first. */
  readonly groups: readonly string[];
  /** The version that messages name; every version counts. */
  readonly version: string;
  readonly namespaced: boolean;
  /** Whether a CRD defines the kind: then the kind has one meaning, also in a misspelt group. */
  readonly custom: boolean;
}

const NAMESPACED = { version: "v1", namespaced: true, custom: false };
const CLUSTER_WIDE = { version: "v1", namespaced: false, custom: false };
const MULTICLUSTER = { groups: MULTICLUSTER_GROUPS, version: "v1beta1", namespaced: true, custom: true };

const KINDS = {
  Namespace: { groups: [""], ...CLUSTER_WIDE },
  Node: { groups: [""], ...CLUSTER_WIDE },
  Service: { groups: [""], ...NAMESPACED },
  EndpointSlice: { groups: ["discovery.k8s.io"], ...NAMESPACED },
  ServiceExport: MULTICLUSTER,
  ServiceImport: MULTICLUSTER,
  Pod: { groups: [""], ...NAMESPACED },
  ClusterProperty: { groups: [ABOUT_GROUP], ...CLUSTER_WIDE, custom: true },
};

/** The kinds that a snapshot uses. */
export type ObjectKind = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as readonly ObjectKind[];

function isKind(name: string): name is ObjectKind {
  return Object.hasOwn(KINDS, name);
}

/** The API group of an object; "" for the core group. */
function readGroup({ apiVersion }: KubernetesObject): string | undefined {
  const text = readText(apiVersion);
  return text?.includes("/") ? text.slice(0, text.indexOf("/")) : text && "";
}

/** The key of an object; the version of its API group is not a part. */
export interface ObjectIdentity {
  readonly kind: ObjectKind;
  readonly group: string;
  /** "" for kinds that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
}

/** A Service or ServiceImport, in the slice's namespace, whose endpoints an EndpointSlice contains. */
export interface SliceOwner {
  /**
   * `local`: a Service of this cluster. `imported`: a ServiceImport, so endpoints of another cluster.
   * `foreign`: endpoints of another cluster at a Service of this one; the Service does not export them.
   */
  readonly side: "local" | "imported" | "foreign";
  readonly service: string;
}

/**
 * The identity of an object; undefined for kinds that a snapshot does not use, and without a valid name or
 * namespace. As with kubectl, an object without a namespace is in "default".
 */
export function identifyObject(object: KubernetesObject | null | undefined): ObjectIdentity | undefined {
  const known = knownKind(object);
  const name = readText(object?.metadata?.name);
  const namespace = object?.metadata?.namespace ?? "";
  if (known === undefined || name === undefined || typeof namespace !== "string") return undefined;
  return { ...known, namespace: KINDS[known.kind].namespaced ? namespace || "default" : "", name };
}

/** The kind and the API group of an object that a snapshot uses. */
function knownKind(
  object: KubernetesObject | null | undefined,
): Pick<ObjectIdentity, "kind" | "group"> | undefined {
  const kind = readText(object?.kind);
  const group = readGroup(object ?? {});
  if (kind === undefined || group === undefined || !isKind(kind)) return undefined;
  const { groups }: KnownKind = KINDS[kind];
  return groups.includes(group) ? { kind, group } : undefined;
}

/**
 * Why an object of a kind that a snapshot uses has no identity; undefined if it has one, and for other kinds.
 */
export function findIdentityProblem(object: KubernetesObject): string | undefined {
  if (knownKind(object) === undefined) return undefined;
  const { name, namespace, generateName } = readMapping(object.metadata);
  for (const [field, value] of Object.entries({ name, namespace }))
    if (typeof value !== "string" && value !== undefined && value !== null)
      return `metadata.${field} is ${quote(value)}, which is not a text: write it in quotes`;
  if (name) return undefined;
  return generateName ? "has a metadata.generateName: give it a metadata.name" : "has no metadata.name";
}

/**
 * The owners of a slice. A Service never exports a slice with one of the multicluster labels, although
 * implementations (Cilium, GKE) also label it with their derived Service. A slice that the worker made has no
 * owner. For any other slice without an owner the result names the missing label.
 */
export function findSliceOwners(slice: EndpointSlice): {
  readonly owners: readonly SliceOwner[];
  readonly missingLabel?: string;
} {
  if (isOwnObject(slice)) return { owners: [] };
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

/**
 * Whether Kubernetes allows the name: a namespace is a DNS label (RFC 1123), other names are path segments of
 * at most 253 characters.
 */
export function hasUsableName({ kind, namespace, name }: ObjectIdentity): boolean {
  const label = /^[a-z0-9][-a-z0-9]{0,62}$/;
  if (kind === "Namespace") return label.test(name);
  return (namespace === "" || label.test(namespace)) && name.length <= 253 && !name.includes("/");
}

/** The ClusterProperty that names a cluster within its clusterset (KEP-2149). */
export const CLUSTER_ID_PROPERTY = "cluster.clusterset.k8s.io";

/** The cluster has no valid id to push with. */
export class ClusterIdError extends Error {
  readonly code: "CLUSTER_ID_UNKNOWN" | "CLUSTER_ID_INVALID";

  constructor(code: "CLUSTER_ID_UNKNOWN" | "CLUSTER_ID_INVALID", message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The id of a cluster: the given one, else the value of the ClusterProperty `cluster.clusterset.k8s.io`,
 * else the UID of the namespace kube-system.
 * @throws {ClusterIdError} if none exists, or the first one is not a cluster id.
 */
export function chooseClusterId(
  given: string | undefined,
  property: unknown,
  kubeSystemUid: unknown,
): string {
  const sources: [unknown, string][] = [
    [given, "the cluster id given"],
    [property, `the ClusterProperty ${CLUSTER_ID_PROPERTY}`],
    [kubeSystemUid, "the UID of the namespace kube-system"],
  ];
  for (const [value, source] of sources) {
    if (value === undefined || value === null) continue;
    if (typeof value === "string" && isClusterId(value)) return value;
    throw new ClusterIdError(
      "CLUSTER_ID_INVALID",
      `${source} is ${quote(value)}, which is not a cluster id: one RFC 1123 label, or two joined by a dot. Correct it, or give a cluster id (--cluster-id)`,
    );
  }
  throw new ClusterIdError(
    "CLUSTER_ID_UNKNOWN",
    `the cluster has no id: it has neither a ClusterProperty ${CLUSTER_ID_PROPERTY} nor a namespace kube-system with a UID. Give one (--cluster-id)`,
  );
}

/** The region and zone of a node, from its well-known labels. */
export interface NodePlace {
  readonly region: string | undefined;
  readonly zone: string | undefined;
}

const MOST_LABEL = 63;
const MOST_ZONES = 1000;

/** Reads a node's region and zone; label values that no API server accepts count as absent. */
export function readNodePlace(labels: unknown): NodePlace {
  const read = (key: string) => {
    const value = readText(readLabel(labels, key));
    return value !== undefined && value.length <= MOST_LABEL ? value : undefined;
  };
  return { region: read("topology.kubernetes.io/region"), zone: read("topology.kubernetes.io/zone") };
}

/**
 * The topology of a cluster: the region of most nodes (the first by name if several have as many), and all
 * zones, sorted. Undefined if no node has such labels.
 */
export function summarizeTopology(
  places: Iterable<NodePlace>,
): { region?: string; zones?: string[] } | undefined {
  const regions = new Map<string, number>();
  const zones = new Set<string>();
  for (const { region, zone } of places) {
    if (region !== undefined) regions.set(region, (regions.get(region) ?? 0) + 1);
    if (zone !== undefined) zones.add(zone);
  }
  if (regions.size === 0 && zones.size === 0) return undefined;
  const [most] = [...regions].sort(
    ([left, leftNodes], [right, rightNodes]) => rightNodes - leftNodes || compareText(left, right),
  );
  return {
    ...(most === undefined ? {} : { region: most[0] }),
    ...(zones.size === 0 ? {} : { zones: [...zones].sort(compareText).slice(0, MOST_ZONES) }),
  };
}

/** The global properties except the ports, as in the object (KEP-1645, Global Properties). */
export function readGlobalProperties(report: Report, spec: ServiceProperties | undefined) {
  return {
    sessionAffinity: readBoundedText(report, "spec.sessionAffinity", spec?.sessionAffinity, 63),
    sessionAffinityTimeoutSeconds: readSeconds(
      report,
      "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
      spec?.sessionAffinityConfig?.clientIP?.timeoutSeconds,
    ),
    internalTrafficPolicy: readBoundedText(
      report,
      "spec.internalTrafficPolicy",
      spec?.internalTrafficPolicy,
      63,
    ),
    trafficDistribution: readBoundedText(report, "spec.trafficDistribution", spec?.trafficDistribution, 317),
  };
}

function readSeconds(report: Report, field: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  return report(
    "InvalidField",
    `${field} holds ${quote(value)}, which is not a whole number; it is left out`,
  );
}
