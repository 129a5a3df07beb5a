import { createHash } from "node:crypto";
import {
  MANAGED_BY_LABEL,
  OWN_MANAGER,
  MULTICLUSTER_SERVICE_NAME_LABEL as SERVICE_NAME,
  SERVICE_NAME_LABEL,
  SOURCE_CLUSTER_LABEL as SOURCE_CLUSTER,
} from "../../extract/objects.ts";
import {
  type DesiredImport,
  type DesiredSlice,
  isLabelValue,
  isQualifiedName,
  servicePortNames,
} from "../../snapshot/desired-line.ts";
import type { ServicePort } from "../../snapshot/schema.ts";
import type { NamedSlice } from "./desired.ts";

/** An object as it is sent to the API server, and as it comes back. */
export interface ManagedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly object[];
  };
  readonly [field: string]: unknown;
}

/** The namespace and name of an object. */
export type ObjectName = Pick<ManagedObject["metadata"], "namespace" | "name">;

/** The name of an object for people: with its namespace, if it has one. */
export function nameOf({ metadata: { namespace, name } }: Pick<ManagedObject, "metadata">): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** Whether the control plane made the object. */
export function isManaged({ metadata }: Pick<ManagedObject, "metadata">): boolean {
  return metadata.labels?.[MANAGED_BY_LABEL] === OWN_MANAGER;
}

/** Adds the mark of the control plane and the hash of the whole. */
export function mark(object: ManagedObject): ManagedObject {
  const labels = { ...object.metadata.labels, [MANAGED_BY_LABEL]: OWN_MANAGER };
  const marked = { ...object, metadata: { ...object.metadata, labels } };
  const hash = createHash("sha256")
    .update(JSON.stringify(sorted(marked)))
    .digest("base64url")
    .slice(0, 16);
  return {
    ...marked,
    metadata: { ...marked.metadata, annotations: { ...object.metadata.annotations, [APPLIED]: hash } },
  };
}

/**
 * Whether applying `wanted` would change `actual`. The hash shows fields that were applied once and are not
 * wanted any more; the comparison shows what somebody else changed. Fields that are not ours do not count.
 */
export function differs(wanted: ManagedObject, actual: ManagedObject): boolean {
  return !contains(actual, wanted);
}

/**
 * Whether `whole` has everything that `part` has. Lists are compared element by element; the API server
 * returns an empty one as null, or not at all.
 */
function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part) && part.length === 0 && (whole === undefined || whole === null)) return true;
  if (Array.isArray(part))
    return (
      Array.isArray(whole) &&
      whole.length === part.length &&
      part.every((element, index) => contains(whole[index], element))
    );
  if (typeof part !== "object" || part === null) return whole === part;
  if (typeof whole !== "object" || whole === null) return Object.keys(part).length === 0;
  return Object.entries(part).every(([key, value]) =>
    contains((whole as Record<string, unknown>)[key], value),
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}

/** The group of ServiceImport and ServiceExport. */
export const MULTICLUSTER_GROUP = "multicluster.x-k8s.io";

/** The addresses that the API server allocated to the derived Service. */
interface ClusterSetIPs {
  readonly ips: readonly string[];
  readonly ipFamilies: readonly string[];
}

/**
 * A ServiceImport (KEP-1645, Importing Services). Without `addresses` a ClusterSetIP import has no `ips` yet.
 */
export function serviceImport(
  version: string,
  { namespace, name }: ObjectName,
  desired: DesiredImport,
  addresses: ClusterSetIPs | undefined,
): ManagedObject {
  const isHeadless = desired.type === "Headless";
  const { ips, ipFamilies } =
    isHeadless || addresses === undefined
      ? { ips: [], ipFamilies: desired.ipFamilies }
      : ofFamilies(addresses, desired.ipFamilies);
  return mark({
    apiVersion: `${MULTICLUSTER_GROUP}/${version}`,
    kind: "ServiceImport",
    metadata: {
      namespace,
      name,
      labels: Object.fromEntries(Object.entries(desired.labels).filter(isLabel)),
      annotations: {
        ...Object.fromEntries(Object.entries(desired.annotations).filter(([key]) => isQualifiedName(key))),
        ...(!isHeadless && { [DERIVED_SERVICE]: derivedServiceName(name) }),
      },
    },
    spec: {
      type: desired.type,
      ports: desired.ports.map(portOf),
      ips,
      ipFamilies,
      ...affinityOf(desired),
      internalTrafficPolicy: desired.internalTrafficPolicy ?? "Cluster",
      ...(desired.trafficDistribution !== undefined && { trafficDistribution: desired.trafficDistribution }),
    },
  });
}

/** The addresses of families that exporters have: nothing is behind others. All, if it has none of these. */
function ofFamilies(addresses: ClusterSetIPs, wanted: readonly string[]): ClusterSetIPs {
  const { ips, ipFamilies } = addresses;
  const isReachable = (_: string, index: number) => wanted.includes(ipFamilies[index]!);
  const reachable = { ips: ips.filter(isReachable), ipFamilies: ipFamilies.filter(isReachable) };
  return reachable.ips.length === 0 ? addresses : reachable;
}

/** The session affinity, which a ServiceImport and its derived Service have in common. */
function affinityOf(desired: DesiredImport): Record<string, unknown> {
  const { sessionAffinity, sessionAffinityTimeoutSeconds: timeoutSeconds } = desired;
  return {
    sessionAffinity: sessionAffinity ?? "None",
    ...(timeoutSeconds !== undefined && { sessionAffinityConfig: { clientIP: { timeoutSeconds } } }),
  };
}

/** A port in the form of the API: what is not set is left out. */
export function portOf({ name, protocol, port, appProtocol }: ServicePort): Record<string, unknown> {
  return { ...(name !== "" && { name }), protocol, port, ...(appProtocol !== undefined && { appProtocol }) };
}

/**
 * The status of a ServiceImport: `Ready` is False while a ClusterSetIP import has no address, or none of a
 * family that the exporters have.
 * @param isRejected whether the API server rejected its Service or a slice: then it is not ready, either
 */
export function importStatus(
  desired: DesiredImport,
  addresses: ClusterSetIPs | undefined,
  isRejected = false,
) {
  const [status, reason, message] = isRejected ? REJECTED : readiness(desired, addresses);
  return {
    clusters: desired.clusters.map((cluster) => ({ cluster })),
    endpointSliceObjects: "Present",
    conditions: [{ type: "Ready", status, reason, message }],
  };
}

const REJECTED = ["False", "Pending", "the API server rejects a part: see the worker's log"] as const;

function readiness({ type, ipFamilies }: DesiredImport, addresses: ClusterSetIPs | undefined) {
  const ready = ["True", "Ready", "the clusterset's endpoints are here"] as const;
  if (type === "Headless") return ready;
  if (addresses === undefined)
    return ["False", "Pending", "the derived Service has no cluster IP yet"] as const;
  if (ipFamilies.length === 0 || ipFamilies.some((family) => addresses.ipFamilies.includes(family)))
    return ready;
  const message = `the exporters' endpoints are ${ipFamilies.join()}, and Services of this cluster ${addresses.ipFamilies.join()}: no traffic can reach them`;
  return ["False", "IPFamilyNotSupported", message] as const;
}

/** The CRD of ServiceExport takes any text as an exported label, the API server does not (422). */
function isLabel([key, value]: [string, string]): boolean {
  return isQualifiedName(key) && isLabelValue(value);
}

/**
 * An EndpointSlice of one source cluster (KEP-1645, Using EndpointSlice objects). `derived` is the Service
 * whose cluster IPs lead to it; undefined for headless services. The user's own Service is never named: it
 * would get the clusterset's endpoints.
 */
export function endpointSlice(
  { namespace, name }: ObjectName,
  { cluster, slice, desired }: NamedSlice,
  derived: string | undefined,
  owner: object,
): ManagedObject {
  return mark({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: endpointSliceName(name, cluster, slice),
      labels: {
        [SERVICE_NAME]: name,
        [SOURCE_CLUSTER]: cluster,
        [SLICE_MANAGED_BY]: OWN_MANAGER,
        ...(derived !== undefined && { [SERVICE_NAME_LABEL]: derived }),
      },
      ownerReferences: [owner],
    },
    addressType: desired.addressType,
    ports: desired.ports.map(({ name: port, ...rest }) => ({ ...rest, name: port })),
    endpoints: desired.endpoints.map(endpointOf),
  });
}

function endpointOf(endpoint: DesiredSlice["endpoints"][number]): object {
  const { address, ready = true, serving = true, terminating = false, ...rest } = endpoint;
  return { addresses: [address], conditions: { ready, serving, terminating }, ...rest };
}

/**
 * The selectorless Service from which a ServiceImport has its `spec.ips`: the API server allocates them, and
 * kube-proxy routes them to the slices that name this Service. Undefined without ports: a Service needs at
 * least one. The import does not own it: the Service is made first, so that the import has its addresses when
 * it is written, and an import that somebody deleted comes back with the same ones.
 *
 * Two properties of the import are not copied. With `internalTrafficPolicy: Local` kube-proxy would drop all
 * traffic: the endpoints of other clusters are on none of this cluster's nodes. `trafficDistribution` is read
 * by controllers of EndpointSlices and not by kube-proxy, and API servers before 1.34 reject newer values.
 */
export function derivedService(
  { namespace, name }: ObjectName,
  desired: DesiredImport,
): ManagedObject | undefined {
  if (desired.ports.length === 0) return undefined;
  const names = servicePortNames(desired.ports);
  return mark({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name: derivedServiceName(name), labels: { [SERVICE_NAME]: name } },
    spec: {
      type: "ClusterIP",
      ipFamilyPolicy: "PreferDualStack",
      ports: desired.ports.map((port, index) => portOf({ ...port, name: names[index]! })),
      ...affinityOf(desired),
      internalTrafficPolicy: "Cluster",
    },
  });
}

/** The cluster IPs of a derived Service; undefined before the API server has allocated them. */
export function clusterSetIPsOf(service: ManagedObject | undefined): ClusterSetIPs | undefined {
  const { clusterIPs, ipFamilies } = (service?.spec ?? {}) as { clusterIPs?: unknown; ipFamilies?: unknown };
  if (!isTexts(clusterIPs) || !isTexts(ipFamilies) || clusterIPs.length === 0 || clusterIPs[0] === "None")
    return undefined;
  return { ips: clusterIPs, ipFamilies };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((element) => typeof element === "string");
}

/** Keeps other controllers of EndpointSlices away from ours. */
const SLICE_MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
/**
 * The annotation of a ServiceImport that names its derived Service (read by Cilium's Gateway API,
 * cilium/cilium#28769).
 */
export const DERIVED_SERVICE = "multicluster.kubernetes.io/derived-service";
/** The annotation with the hash of what was applied last: fields that are no longer wanted show by it. */
export const APPLIED = "clusterset-doh.dev/applied";

const LONGEST_LABEL = 63;
/** With which the names of derived Services begin. */
export const DERIVED_PREFIX = "clusterset-";

/**
 * The name of the Service that carries a ServiceImport's cluster IPs: `clusterset-<name>`, with a hash if
 * that is too long for a DNS label.
 */
export function derivedServiceName(service: string): string {
  const name = DERIVED_PREFIX + service;
  if (name.length <= LONGEST_LABEL) return name;
  return `${name.slice(0, LONGEST_LABEL - 9)}-${shortHash(service)}`;
}

/** The name of an EndpointSlice: `<service>-<hash of service and source cluster>-<slice>`. */
export function endpointSliceName(service: string, cluster: string, slice: string): string {
  return `${service}-${shortHash(`${service}\0${cluster}`)}-${slice}`;
}

/** Eight hexadecimal digits of a SHA-256. */
export function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

export { SERVICE_NAME, SOURCE_CLUSTER };

/** The owner reference to a ServiceImport: when that goes, the garbage collector takes its slices along. */
export function ownerReference({ apiVersion, kind, metadata }: ManagedObject): object {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid };
}

/** A time of the API (metav1.Time): RFC 3339 in whole seconds. @param milliseconds since the epoch */
export function toTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A time of the API in microseconds (metav1.MicroTime). @param milliseconds since the epoch */
export function toMicroTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}
