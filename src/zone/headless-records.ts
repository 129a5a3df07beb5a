import type { ClustersetEndpoint } from "../merge/clusterset.ts";
import { ANY_ASKER } from "./layout.ts";
import { RecordSets } from "./record-sets.ts";
import { addressLabel, clusterIdLabels, isHostLabel, portLabels } from "./service-labels.ts";
import type { ServiceScope } from "./service-scope.ts";

/** An endpoint with the parts that its names are made of. */
interface NamedEndpoint {
  readonly endpoint: ClustersetEndpoint;
  readonly octets: Uint8Array;
  /** The node of `<hostname>.<clusterid>` below the service; none where that name cannot exist. */
  readonly node: number | undefined;
}

/**
 * Writes the names of a headless service (specification 2.4). Without a ready endpoint it has none at all, so
 * that the answer is NXDOMAIN.
 */
export function compileHeadless(scope: ServiceScope, serviceNode: () => number): void {
  const endpoints = usableEndpoints(scope, serviceNode);
  if (endpoints.length === 0) return;
  const node = serviceNode();
  const { builder, ttl } = scope.zone;
  const group = builder.leaseGroup(endpoints.map(({ endpoint }) => endpoint.toldBy));
  const own = new RecordSets();
  for (const { octets } of endpoints) own.addAddress(octets, ttl, group);
  writeServices(scope, node, own, endpoints, group);
  scope.write(node, own);
  writeHosts(scope, endpoints);
}

function usableEndpoints(scope: ServiceScope, serviceNode: () => number): NamedEndpoint[] {
  const usable: NamedEndpoint[] = [];
  let clusterId: string | undefined;
  let cluster: readonly string[] | undefined;
  for (const endpoint of scope.service.endpoints) {
    const octets = scope.address(endpoint.address, endpoint.toldBy);
    if (octets === undefined) continue;
    if (endpoint.clusterId !== clusterId) {
      clusterId = endpoint.clusterId;
      cluster = clusterIdLabels(clusterId);
    }
    let node: number | undefined;
    if (cluster === undefined)
      scope.report(
        endpoint.toldBy,
        "InvalidSourceCluster",
        `the source cluster ${JSON.stringify(endpoint.clusterId)} is no cluster id (one RFC 1123 label, or two joined by a dot): its endpoints have no names of their own`,
      );
    else node = scope.name(serviceNode(), [hostLabel(scope, endpoint, octets), ...cluster], endpoint.toldBy);
    usable.push({ endpoint, octets, node });
  }
  return usable;
}

function hostLabel(
  scope: ServiceScope,
  { hostname, toldBy }: ClustersetEndpoint,
  octets: Uint8Array,
): string {
  if (hostname === undefined || hostname === "") return addressLabel(octets);
  if (isHostLabel(hostname)) return hostname;
  scope.report(
    toldBy,
    "InvalidHostname",
    `the hostname ${JSON.stringify(hostname)} cannot be a DNS label: its address is used instead`,
  );
  return addressLabel(octets);
}

function writeServices(
  scope: ServiceScope,
  serviceNode: number,
  own: RecordSets,
  endpoints: readonly NamedEndpoint[],
  group: number,
): void {
  const { ttl } = scope.zone;
  const byNode = new Map<number, RecordSets>();
  let told: ClustersetEndpoint | undefined;
  let named: readonly NamedPort[] = [];
  for (const { endpoint, node } of endpoints) {
    if (node === undefined) continue;
    // Endpoints of one EndpointSlice share their ports, and come one after the other.
    if (told?.ports !== endpoint.ports || told.toldBy !== endpoint.toldBy) {
      told = endpoint;
      named = namePorts(scope, serviceNode, endpoint, byNode);
    }
    for (const { number, sets } of named) {
      own.addService(number, node, ttl, group);
      sets?.addService(number, node, ttl, group);
    }
  }
  for (const [node, sets] of byNode) scope.write(node, sets);
}

/** A port with the sets of its name `_<port>._<protocol>`; none where that name is too long. */
interface NamedPort {
  readonly number: number;
  readonly sets: RecordSets | undefined;
}

function namePorts(
  scope: ServiceScope,
  serviceNode: number,
  { ports, toldBy }: ClustersetEndpoint,
  byNode: Map<number, RecordSets>,
): NamedPort[] {
  const named: NamedPort[] = [];
  for (const port of ports) {
    const labels = portLabels(port);
    if (labels.kind === "odd") scope.report(toldBy, labels.reason, labels.message);
    if (labels.kind !== "named") continue;
    const node = scope.name(serviceNode, [labels.portLabel, labels.protocolLabel], toldBy);
    if (node === undefined) {
      named.push({ number: labels.number, sets: undefined });
      continue;
    }
    const sets = byNode.get(node) ?? new RecordSets();
    byNode.set(node, sets);
    named.push({ number: labels.number, sets });
  }
  return named;
}

function writeHosts(scope: ServiceScope, endpoints: readonly NamedEndpoint[]): void {
  const { builder, ttl } = scope.zone;
  const byNode = new Map<number, NamedEndpoint[]>();
  for (const named of endpoints) {
    if (named.node === undefined) continue;
    const sharing = byNode.get(named.node);
    if (sharing === undefined) byNode.set(named.node, [named]);
    else sharing.push(named);
  }
  for (const [node, sharing] of byNode) {
    const group = builder.leaseGroup(sharing.map(({ endpoint }) => endpoint.toldBy));
    const sets = new RecordSets();
    for (const { octets } of sharing) {
      sets.addAddress(octets, ttl, group);
      scope.reverse(octets, node, ANY_ASKER, group);
    }
    scope.write(node, sets);
  }
}
