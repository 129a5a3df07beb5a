import { type ExportedService, LocalService, UNDATED } from "../../snapshot/schema.ts";
import { type NamedSlice, readEndpointPorts } from "../endpoints.ts";
import { compareText, quote, readLabel, readList, readMapping, readText, readTexts } from "../fields.ts";
import type { Report } from "../findings.ts";
import type { Node, Service, SliceEndpoint } from "../objects.ts";

/** Reads `metadata.creationTimestamp`; an invalid value becomes an `InvalidTimestamp` finding and `UNDATED`. */
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

/** The annotation from before Services had the field `publishNotReadyAddresses` (DNS-based service discovery, section 2.1). */
const TOLERATE_UNREADY_ANNOTATION = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/** Whether all endpoints of a Service count as ready, by the field or by the older annotation; undefined if neither is set. */
export function readPublishNotReady({ metadata, spec }: Service): true | undefined {
  const annotated = readLabel(metadata?.annotations, TOLERATE_UNREADY_ANNOTATION) === "true";
  return annotated || spec?.publishNotReadyAddresses === true ? true : undefined;
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

/** The addresses of a node; none while load balancers must not use it: it is not ready, is being deleted or has the label that excludes it. */
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
 * The node ports of a Service, and the nodes on which they lead to an endpoint: with `externalTrafficPolicy: Local` those that have a ready one.
 * Undefined if the Service has no node ports.
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
