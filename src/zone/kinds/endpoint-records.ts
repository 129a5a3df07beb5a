import { formatAddress } from "../../dns/address.ts";
import { MAX_LABEL_BYTES } from "../../dns/name.ts";
import type { EndpointPort, ServicePort } from "../../snapshot/schema.ts";
import { RecordSets } from "../record-block.ts";
import type { ReverseWish, ServiceScope } from "./tree-scope.ts";

/** An endpoint of a headless service, with the node of its own name. */
export interface PlacedEndpoint {
  readonly bytes: Uint8Array;
  readonly ports: readonly EndpointPort[];
  readonly reportedBy: string;
  /** Undefined if the endpoint cannot have a name. */
  readonly node: number | undefined;
  /** Its reverse name. */
  readonly reverse: Omit<ReverseWish, "clusters">;
}

/**
 * The label of an endpoint: its hostname, else its address (definition of hostname in both
 * specifications, section 2.1). A hostname that cannot be a label is a finding.
 */
export function endpointLabel(
  scope: ServiceScope,
  hostname: string | undefined,
  bytes: Uint8Array,
  reportedBy: string,
): string {
  if (hostname === undefined || hostname === "") return addressLabel(bytes);
  if (isHostLabel(hostname)) return hostname;
  scope.report(
    reportedBy,
    "InvalidHostname",
    `the hostname ${JSON.stringify(hostname)} cannot be a DNS label: the name uses the address instead`,
  );
  return addressLabel(bytes);
}

/** Writes the SRV records of endpoints, and A, AAAA and PTR of each; returns the SRV records for the service's name. */
export function writeEndpointRecords(
  scope: ServiceScope,
  serviceNode: number,
  endpoints: readonly PlacedEndpoint[],
  leaseGroup: number,
): RecordSets {
  const targets: PortTarget[] = [];
  for (const { node, ports, reportedBy } of endpoints) {
    if (node !== undefined) for (const port of ports) targets.push({ port, node, reportedBy });
  }
  const { all } = writePortRecords(scope, serviceNode, targets, leaseGroup);
  writeHosts(scope, endpoints);
  return all;
}

function writeHosts(scope: ServiceScope, endpoints: readonly PlacedEndpoint[]): void {
  const { names, ttl } = scope.tree.context;
  const byNode = new Map<number, PlacedEndpoint[]>();
  for (const endpoint of endpoints) {
    if (endpoint.node === undefined) continue;
    const sharing = byNode.get(endpoint.node);
    if (sharing === undefined) byNode.set(endpoint.node, [endpoint]);
    else sharing.push(endpoint);
  }
  for (const [node, sharing] of byNode) {
    const clusters = [...new Set(sharing.map(({ reportedBy }) => reportedBy))];
    const group = names.leaseGroup(clusters);
    const sets = new RecordSets();
    for (const { bytes, reverse } of sharing) {
      sets.addAddress(bytes, ttl, group);
      scope.reverse(bytes, node, { ...reverse, clusters });
    }
    scope.write(node, sets, sharing[0]!.reportedBy);
  }
}

/** A port with its SRV target. */
export interface PortTarget {
  readonly port: ServicePort | EndpointPort;
  /** The node of the SRV target; without one the port has a name, but no record. */
  readonly node: number | undefined;
  /** The cluster that reported it. */
  readonly reportedBy: string;
}

/** SRV records for the service's own name: of its own, and in views by their indices. */
interface PortRecords {
  readonly all: RecordSets;
  readonly byView: ReadonlyMap<number, RecordSets>;
}

/**
 * Writes the SRV records of the named ports at `_<port>._<protocol>` below a service, and returns all of them
 * for the service's own name. Unnamed ports have none.
 * @param views the targets in views that have others, by the indices of the views in the segment
 */
export function writePortRecords(
  scope: ServiceScope,
  serviceNode: number,
  targets: readonly PortTarget[],
  leaseGroup: number,
  views: ReadonlyMap<number, readonly PortTarget[]> = new Map(),
): PortRecords {
  const collect = (some: readonly PortTarget[]) => collectPorts(scope, serviceNode, some, leaseGroup);
  const own = collect(targets);
  const inViews = [...views].map(([view, some]) => [view, collect(some)] as const);
  const nodes = new Set([own, ...inViews.map(([, one]) => one)].flatMap(({ byNode }) => [...byNode.keys()]));
  for (const node of nodes) {
    const variants = new Map(
      inViews.map(([view, { byNode }]) => [view, byNode.get(node) ?? new RecordSets()]),
    );
    scope.write(node, own.byNode.get(node) ?? new RecordSets(), targets[0]!.reportedBy, variants);
  }
  return { all: own.all, byView: new Map(inViews.map(([view, { all }]) => [view, all])) };
}

function collectPorts(
  scope: ServiceScope,
  serviceNode: number,
  targets: readonly PortTarget[],
  leaseGroup: number,
): { readonly all: RecordSets; readonly byNode: ReadonlyMap<number, RecordSets> } {
  const { ttl } = scope.tree.context;
  const all = new RecordSets();
  const byNode = new Map<number, RecordSets>();
  // Endpoints of one EndpointSlice share their port objects.
  const judged = new Map<PortTarget["port"], NamedPort | undefined>();
  for (const { port, node, reportedBy } of targets) {
    if (!judged.has(port)) judged.set(port, namePort(scope, serviceNode, port, reportedBy, byNode));
    const named = judged.get(port);
    if (named === undefined || node === undefined) continue;
    all.addService(named.number, node, ttl, leaseGroup);
    named.sets?.addService(named.number, node, ttl, leaseGroup);
  }
  return { all, byNode };
}

/** A port with the sets of its name `_<port>._<protocol>`; undefined if that name is too long. */
interface NamedPort {
  readonly number: number;
  readonly sets: RecordSets | undefined;
}

function namePort(
  scope: ServiceScope,
  serviceNode: number,
  port: PortTarget["port"],
  reportedBy: string,
  byNode: Map<number, RecordSets>,
): NamedPort | undefined {
  const labels = portLabels(port);
  if (labels.kind === "odd") scope.report(reportedBy, labels.reason, labels.message);
  if (labels.kind !== "named") return undefined;
  const node = scope.name(serviceNode, [labels.portLabel, labels.protocolLabel], reportedBy);
  if (node === undefined) return { number: labels.number, sets: undefined };
  const sets = byNode.get(node) ?? new RecordSets();
  byNode.set(node, sets);
  return { number: labels.number, sets };
}

const LABEL = /^[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?$/;
const PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ["", "_tcp"],
  ["TCP", "_tcp"],
  ["UDP", "_udp"],
  ["SCTP", "_sctp"],
]);

/** Whether text can be one label of a host name: RFC 1123 section 2.1, at most 63 bytes. */
export function isHostLabel(text: string): boolean {
  return text.length <= MAX_LABEL_BYTES && LABEL.test(text);
}

/** Whether a label may be part of a key: one of a host name, perhaps with underscores, or that of a pod, which may end in a dash. */
export function isKeyLabel(label: string): boolean {
  return isHostLabel(label) || isHostLabel(label.replaceAll("_", "x").replace(/-$/, "x"));
}

/**
 * The labels of a cluster id: one, or two joined by a dot (KEP-1645). A label value of Kubernetes may contain
 * underscores; a DNS label may, too, so they are kept. Undefined for anything else.
 */
export function clusterIdLabels(clusterId: string): readonly string[] | undefined {
  const labels = clusterId.split(".");
  return labels.length <= 2 && labels.every((label) => isHostLabel(label.replaceAll("_", "x")))
    ? labels
    : undefined;
}

/** Whether text can be the name of a namespace or a Service: a label in lower case (RFC 1123; Kubernetes, Names). */
export function isObjectLabel(text: string): boolean {
  return isHostLabel(text) && text === text.toLowerCase();
}

/** The labels `_<port>._<protocol>` and the number of a port (specification 2.3.2), or the reason why it has none. */
type PortLabels =
  | {
      readonly kind: "named";
      readonly portLabel: string;
      readonly protocolLabel: string;
      readonly number: number;
    }
  | { readonly kind: "unnamed" }
  | { readonly kind: "odd"; readonly reason: string; readonly message: string };

/** Validates a port. The protocol defaults to TCP, as in the API server. */
export function portLabels({ name, protocol, port }: ServicePort | EndpointPort): PortLabels {
  const shown = () => `port ${JSON.stringify(name)} (${protocol || "TCP"} ${port})`;
  if (port < 1 || port > 65535)
    return {
      kind: "odd",
      reason: "InvalidPortNumber",
      message: `${shown()} is outside 1 to 65535: it gets no SRV record`,
    };
  if (name === "") return { kind: "unnamed" };
  const protocolLabel = PROTOCOLS.get(protocol.toUpperCase());
  if (protocolLabel === undefined)
    return {
      kind: "odd",
      reason: "InvalidProtocol",
      message: `${shown()} has a protocol that is not TCP, UDP or SCTP: it gets no SRV record`,
    };
  if (!isHostLabel(name) || name.length + 1 > MAX_LABEL_BYTES)
    return {
      kind: "odd",
      reason: "InvalidPortName",
      message: `${shown()} has a name that cannot be a DNS label: it gets no SRV record`,
    };
  return { kind: "named", portLabel: `_${name.toLowerCase()}`, protocolLabel, number: port };
}

/**
 * The label of an endpoint without a hostname: its address with dashes, as CoreDNS writes it (an IPv6
 * address that would end in a dash gets a final zero).
 */
export function addressLabel(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}-${bytes[1]}-${bytes[2]}-${bytes[3]}`;
  return podLabels(bytes).at(-1)!;
}

/**
 * The labels of a pod: its address with dashes. An IPv6 label that ends in a dash, as in CoreDNS, also exists with a
 * final zero, since a host name must not end in a dash (RFC 1123 section 2.1).
 */
export function podLabels(bytes: Uint8Array): readonly string[] {
  const label = formatAddress(bytes).replaceAll(/[.:]/g, "-");
  return label.endsWith("-") ? [label, `${label}0`] : [label];
}
