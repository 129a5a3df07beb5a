import { type EndpointGroups, type ExportedService, LocalService, UNDATED } from "../../snapshot/schema.ts";
import { type NamedSlice, readEndpointPorts, readServicePorts } from "../endpoints.ts";
import {
  compareText,
  quote,
  readBoundedText,
  readLabel,
  readList,
  readMapping,
  readText,
  readTexts,
} from "../fields.ts";
import type { FindingCollector, Report } from "../findings.ts";
import type { Node, Service, SliceEndpoint } from "../objects.ts";

/**
 * The annotation that replaces the proposed field `spec.name` (multi-label CNAME records), which API servers
 * drop.
 */
export const OWNED_NAME_ANNOTATION = "clusterset-doh.dev/name";

/**
 * A Service for the cluster's own zone (DNS-based service discovery 1.0.1). Undefined, with the finding
 * `InvalidServiceType`, if Kubernetes does not have its type. A Service of type ExternalName never has
 * cluster IPs or endpoints here, even if its other fields list some.
 */
export function describeLocalService(
  namespace: string,
  name: string,
  service: Service,
  endpoints: () => EndpointGroups,
  findings: FindingCollector,
): LocalService | undefined {
  const { metadata, spec } = service;
  const report = findings.about({ kind: "Service", namespace, name });
  const serviceType = readServiceType(report, spec?.type);
  if (serviceType === undefined) return undefined;
  const isAlias = serviceType === "ExternalName";
  const headless = !isAlias && isHeadless(spec);
  return {
    createdAt: readCreation(report, metadata?.creationTimestamp),
    serviceType,
    headless,
    ports: readServicePorts(report, spec?.ports),
    clusterIPs: isAlias || headless ? undefined : readClusterIPs(report, spec),
    publishNotReadyAddresses: readPublishNotReady(report, service),
    externalName: isAlias ? readBoundedText(report, "spec.externalName", spec?.externalName, 253) : undefined,
    ownedName: readOwnedName(report, service, isAlias),
    // Endpoints of other Services have no names; pushing them would cost a delta for every changed pod.
    endpoints: headless ? endpoints() : {},
  };
}

function readServiceType(report: Report, type: unknown): LocalService["serviceType"] | undefined {
  // The Kubernetes API fills in ClusterIP; a manifest may leave it out.
  if (type === undefined || type === null || type === "") return "ClusterIP";
  if (type === "ClusterIP" || type === "NodePort" || type === "LoadBalancer" || type === "ExternalName")
    return type;
  return report(
    "InvalidServiceType",
    `the Service is of type ${quote(type)}, which Kubernetes does not have; it is not served in the cluster's zone`,
  );
}

const DNS_NAME =
  /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*$/i;

// "Must be a valid DNS name and requires Type to be ExternalName" (Multi-label subdomain support, Proposed
// solution).
function readOwnedName(report: Report, { metadata, spec }: Service, isAlias: boolean): string | undefined {
  const fromSpec = spec?.name ?? "";
  const [field, value] =
    fromSpec === ""
      ? [`the annotation ${OWNED_NAME_ANNOTATION}`, readLabel(metadata?.annotations, OWNED_NAME_ANNOTATION)]
      : ["spec.name", fromSpec];
  if (value === undefined || value === "") return undefined;
  if (isAlias && typeof value === "string" && DNS_NAME.test(value)) return value;
  const why = isAlias
    ? "is not a valid DNS name; the CNAME record keeps the name of the Service"
    : "requires the Service to be of type ExternalName; it is left out";
  return report("InvalidSpecName", `${field} is ${quote(value)}, which ${why}`);
}

/**
 * Reads `metadata.creationTimestamp`; an invalid value becomes an `InvalidTimestamp` finding and `UNDATED`.
 */
export function readCreation(report: Report, value: unknown): string {
  if (value === undefined || value === null) return UNDATED;
  const result = LocalService.shape.createdAt.safeParse(value);
  if (result.success) return result.data;
  const message = `metadata.creationTimestamp holds ${quote(value)}, which is not an RFC 3339 time; the object counts as the youngest`;
  return report("InvalidTimestamp", message) ?? UNDATED;
}

/** Whether a Service is headless: `clusterIP: None`. */
export function isHeadless(spec: Service["spec"]): boolean {
  return spec?.clusterIP === "None" || readList(spec?.clusterIPs)[0] === "None";
}

/**
 * The annotation from before Services had the field `publishNotReadyAddresses` (DNS-based service discovery,
 * section 2.1).
 */
const TOLERATE_UNREADY_ANNOTATION = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/**
 * Whether all endpoints of a Service count as ready, by the field or by the older annotation; undefined if
 * neither is set.
 */
export function readPublishNotReady(report: Report, { metadata, spec }: Service): true | undefined {
  const value = spec?.publishNotReadyAddresses ?? false;
  if (typeof value !== "boolean")
    report(
      "InvalidField",
      `spec.publishNotReadyAddresses is ${quote(value)}, neither true nor false; it is left out`,
    );
  const annotated = readLabel(metadata?.annotations, TOLERATE_UNREADY_ANNOTATION) === "true";
  return annotated || value === true ? true : undefined;
}

/** The cluster IPs of a Service that is not headless; undefined if it has none yet. */
export function readClusterIPs(report: Report, spec: Service["spec"]): string[] | undefined {
  const both = readTexts(report, "spec.clusterIPs", spec?.clusterIPs, 64, 2);
  return nonEmpty(both.length > 0 ? both : readTexts(report, "spec.clusterIP", [spec?.clusterIP], 64, 2));
}

/** The list; undefined if it is empty. */
export function nonEmpty<Element>(list: Element[]): Element[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** The type of the addresses of nodes that are reported, as `status.addresses` of a Node has it. */
export type NodeAddressType = "InternalIP" | "ExternalIP";

/** Addresses of nodes to which clients can send, by the name of the node. */
export type NodeAddresses = ReadonlyMap<string, readonly string[]>;

/** Nodes of a service that are reported, the first by name: more would only spread its clients. */
const MOST_NODES = 16;
const MOST_ADDRESSES = 4;
const EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers";

/**
 * The addresses of a node; none while load balancers must not use it: it is not ready, is being deleted or
 * has the label that excludes it.
 */
export function readNodeAddresses({ metadata, status }: Node, type: NodeAddressType): readonly string[] {
  if (metadata?.deletionTimestamp || readLabel(metadata?.labels, EXCLUDED) !== undefined) return [];
  const isReady = readList(status?.conditions)
    .map(readMapping)
    .some((condition) => condition.type === "Ready" && condition.status === "True");
  if (!isReady) return [];
  return readList(status?.addresses)
    .map(readMapping)
    .flatMap((one) => (one.type === type ? (readText(one.address) ?? []) : []))
    .filter((address) => address.length <= 64)
    .slice(0, MOST_ADDRESSES);
}

/**
 * The node ports of a Service, and the nodes on which they lead to an endpoint: with
 * `externalTrafficPolicy: Local` those that have a ready one. Undefined if the Service has no node ports.
 */
export function readNodePorts(
  { spec }: Service,
  slices: Iterable<NamedSlice>,
  nodes: NodeAddresses,
): ExportedService["nodes"] {
  const given = readList(spec?.ports)
    .map(readMapping)
    .map((one) => ({ ...one, port: one.nodePort || undefined }));
  // What is wrong with a port is reported where the Service's own ports are read.
  const ports = readEndpointPorts(() => undefined, given);
  if (ports.length === 0) return undefined;
  const local = spec?.externalTrafficPolicy === "Local" ? nodesOfReady(slices) : undefined;
  const addresses = [...nodes]
    .filter(([name, own]) => own.length > 0 && local?.has(name) !== false)
    .sort(([left], [right]) => compareText(left, right))
    .slice(0, MOST_NODES)
    .flatMap(([, own]) => own);
  return { ports, addresses: [...new Set(addresses)] };
}

function nodesOfReady(slices: Iterable<NamedSlice>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { slice } of slices)
    for (const endpoint of readList(slice.endpoints) as (SliceEndpoint | null | undefined)[]) {
      const name = readText(endpoint?.nodeName);
      if (name !== undefined && endpoint?.conditions?.ready !== false) names.add(name);
    }
  return names;
}
