import type { EndpointPort, ServicePort } from "../../snapshot/schema.ts";
import { RecordSets } from "../record-sets.ts";
import { addressLabel, isHostLabel, portLabels } from "./service-labels.ts";
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
  const services = writePortRecords(scope, serviceNode, targets, leaseGroup);
  writeHosts(scope, endpoints);
  return services;
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

/**
 * Writes the SRV records of the named ports at `_<port>._<protocol>` below a service, and returns all of them
 * for the service's own name. Unnamed ports have none.
 * @param views the indices of the views in the segment that have the records at the ports' names; default: all
 */
export function writePortRecords(
  scope: ServiceScope,
  serviceNode: number,
  targets: readonly PortTarget[],
  leaseGroup: number,
  views?: readonly number[],
): RecordSets {
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
  for (const [node, sets] of byNode) {
    const { reportedBy } = targets[0]!;
    if (views === undefined) scope.write(node, sets, reportedBy);
    else if (!sets.isEmpty)
      scope.write(node, new RecordSets(), reportedBy, new Map(views.map((view) => [view, sets])));
  }
  return all;
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
