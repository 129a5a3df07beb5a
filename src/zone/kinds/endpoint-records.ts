import { formatAddress } from "../../dns/address.ts";
import { MAX_LABEL_BYTES } from "../../dns/name.ts";
import { endsStep, type Steps } from "../../dns/steps.ts";
import type { EndpointPort, ServicePort } from "../../snapshot/schema.ts";
import { RecordSets } from "../world.ts";
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

/**
 * Writes the names of a headless service and of its endpoints. Without a ready endpoint it has no names, so
 * the answer is NXDOMAIN.
 */
export function* writeHeadless(
  scope: ServiceScope,
  serviceNode: () => number,
  endpoints: readonly PlacedEndpoint[],
): Steps {
  if (endpoints.length === 0) return;
  const { names, ttl } = scope.tree.context;
  const serviceName = serviceNode();
  const group = names.leaseGroup([...new Set(endpoints.map(({ reportedBy }) => reportedBy))]);
  const own = new RecordSets();
  const targets: PortTarget[] = [];
  let count = 0;
  for (const { bytes, node, ports, reportedBy } of endpoints) {
    if (endsStep(count++)) yield;
    own.addAddress(bytes, ttl, group);
    for (const port of node === undefined ? [] : ports) {
      if (endsStep(count++)) yield;
      targets.push({ port, node, reportedBy });
    }
  }
  own.addAll((yield* writePortRecords(scope, serviceName, targets, group)).all);
  yield* writeHosts(scope, endpoints);
  scope.write(serviceName, own, endpoints[0]!.reportedBy);
}

/** A, AAAA and PTR of each endpoint. */
function* writeHosts(scope: ServiceScope, endpoints: readonly PlacedEndpoint[]): Steps {
  const { names, ttl } = scope.tree.context;
  let count = 0;
  for (const [node, sharing] of Map.groupBy(endpoints, (endpoint) => endpoint.node)) {
    if (node === undefined) continue;
    if (endsStep(count++)) yield;
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

/**
 * Writes the SRV records of the named ports at `_<port>._<protocol>` below a service, and returns all of them
 * for the service's own name, in all views and in those that have others. Unnamed ports have none.
 * @param views the targets in views that have others, by the indices of the views in the segment
 */
export function* writePortRecords(
  scope: ServiceScope,
  serviceNode: number,
  targets: readonly PortTarget[],
  leaseGroup: number,
  views: ReadonlyMap<number, readonly PortTarget[]> = new Map(),
): Steps<{ readonly all: RecordSets; readonly byView: ReadonlyMap<number, RecordSets> }> {
  const own = yield* collectPorts(scope, serviceNode, targets, leaseGroup);
  const inViews: [view: number, ports: typeof own][] = [];
  for (const [view, some] of views)
    inViews.push([view, yield* collectPorts(scope, serviceNode, some, leaseGroup)]);
  const nodes = new Set([own, ...inViews.map(([, one]) => one)].flatMap(({ byNode }) => [...byNode.keys()]));
  for (const node of nodes) {
    const variants = new Map(
      inViews.map(([view, { byNode }]) => [view, byNode.get(node) ?? new RecordSets()]),
    );
    scope.write(node, own.byNode.get(node) ?? new RecordSets(), targets[0]!.reportedBy, variants);
  }
  return { all: own.all, byView: new Map(inViews.map(([view, { all }]) => [view, all])) };
}

function* collectPorts(
  scope: ServiceScope,
  serviceNode: number,
  targets: readonly PortTarget[],
  leaseGroup: number,
): Steps<{ readonly all: RecordSets; readonly byNode: ReadonlyMap<number, RecordSets> }> {
  const { ttl } = scope.tree.context;
  const all = new RecordSets();
  const byNode = new Map<number, RecordSets>();
  let count = 0;
  // Endpoints of one EndpointSlice share their port objects.
  const judged = new Map<PortTarget["port"], ReturnType<typeof namePort>>();
  for (const { port, node, reportedBy } of targets) {
    if (endsStep(count++)) yield;
    if (!judged.has(port)) judged.set(port, namePort(scope, serviceNode, port, reportedBy, byNode));
    const named = judged.get(port);
    if (named === undefined || node === undefined) continue;
    all.addService(named.number, node, ttl, leaseGroup);
    named.sets?.addService(named.number, node, ttl, leaseGroup);
  }
  return { all, byNode };
}

/** A port with the sets of its name `_<port>._<protocol>`; without them if that name is too long. */
function namePort(
  scope: ServiceScope,
  serviceNode: number,
  port: PortTarget["port"],
  reportedBy: string,
  byNode: Map<number, RecordSets>,
) {
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

/**
 * Whether a label may be part of a key: one of a host name, perhaps with underscores, or that of a pod, which
 * may end in a dash.
 */
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

/**
 * Whether text can be the name of a namespace or a Service: a label in lower case (RFC 1123; Kubernetes,
 * Names).
 */
export function isObjectLabel(text: string): boolean {
  return isHostLabel(text) && text === text.toLowerCase();
}

/**
 * The labels `_<port>._<protocol>` and the number of a port (specification 2.3.2), or the reason why it has
 * none. The protocol defaults to TCP, as in the API server.
 */
export function portLabels({ name, protocol, port }: ServicePort | EndpointPort) {
  const odd = (reason: string, why: string) => {
    const shown = `port ${JSON.stringify(name)} (${protocol || "TCP"} ${port})`;
    return { kind: "odd", reason, message: `${shown} ${why}: it gets no SRV record` } as const;
  };
  if (port < 1 || port > 65535) return odd("InvalidPortNumber", "is outside 1 to 65535");
  if (name === "") return { kind: "unnamed" } as const;
  const protocolLabel = PROTOCOLS.get(protocol.toUpperCase());
  if (protocolLabel === undefined)
    return odd("InvalidProtocol", "has a protocol that is not TCP, UDP or SCTP");
  if (!isHostLabel(name) || name.length + 1 > MAX_LABEL_BYTES)
    return odd("InvalidPortName", "has a name that cannot be a DNS label");
  return { kind: "named", portLabel: `_${name.toLowerCase()}`, protocolLabel, number: port } as const;
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
 * The labels of a pod: its address with dashes. An IPv6 label that ends in a dash, as in CoreDNS, also exists
 * with a final zero, since a host name must not end in a dash (RFC 1123 section 2.1).
 */
export function podLabels(bytes: Uint8Array): readonly string[] {
  const label = formatAddress(bytes).replaceAll(/[.:]/g, "-");
  return label.endsWith("-") ? [label, `${label}0`] : [label];
}
