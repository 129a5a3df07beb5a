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
  for (const endpoint of scope.service.endpoints) {
    const octets = scope.address(endpoint.address, endpoint.toldBy);
    if (octets === undefined) continue;
    const cluster = clusterIdLabels(endpoint.clusterId);
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
  for (const { endpoint, node } of endpoints) {
    if (node === undefined) continue;
    for (const port of endpoint.ports) {
      const labels = portLabels(port);
      if (labels.kind === "odd") scope.report(endpoint.toldBy, labels.reason, labels.message);
      if (labels.kind !== "named") continue;
      own.addService(labels.number, node, ttl, group);
      const portNode = scope.name(serviceNode, [labels.portLabel, labels.protocolLabel], endpoint.toldBy);
      if (portNode === undefined) continue;
      const sets = byNode.get(portNode) ?? new RecordSets();
      byNode.set(portNode, sets);
      sets.addService(labels.number, node, ttl, group);
    }
  }
  for (const [node, sets] of byNode) scope.write(node, sets);
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
