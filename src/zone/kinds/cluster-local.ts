import { RecordType } from "../../dns/codes.ts";
import { parseName } from "../../dns/name.ts";
import type { LocalZone } from "../../merge/clusterset.ts";
import type { LocalService } from "../../snapshot/schema.ts";
import { endpointLabel, type PlacedEndpoint, writeEndpointRecords } from "../endpoint-records.ts";
import { POD_NAMES } from "../image/layout.ts";
import { writePortRecords } from "../port-records.ts";
import { RecordSets } from "../record-sets.ts";
import { isHostLabel, isObjectLabel, podLabels } from "../service-labels.ts";
import { ServiceScope, type TreeScope } from "../tree-scope.ts";

/** Version of the DNS-based service discovery schema (specification section 1). */
export const CLUSTER_LOCAL_DNS_VERSION = "1.0.1";

/** The context of a cluster's own zone: its reverse names exist only in its own view. */
interface LocalScope {
  readonly tree: TreeScope;
  readonly zone: LocalZone;
  readonly asker: number;
  readonly leaseGroup: number;
}

/**
 * Writes a cluster's own zone (DNS-based service discovery 1.0.1). If two objects claim one
 * name, the older one wins.
 */
export function compileClusterLocal(tree: TreeScope, zone: LocalZone): void {
  const { builder, views } = tree.image;
  const { clusterId } = zone;
  const scope: LocalScope = {
    tree,
    zone,
    asker: views.get(clusterId)! + 1,
    leaseGroup: builder.leaseGroup([clusterId]),
  };
  builder.nodes.child(tree.apex, "svc", 0);
  const oldestFirst = Object.entries(zone.services).sort(
    ([key, one], [otherKey, other]) =>
      Date.parse(one.createdAt) - Date.parse(other.createdAt) || (key < otherKey ? -1 : 1),
  );
  const placed = oldestFirst.flatMap(([key, service]) => placeService(scope, key, service) ?? []);
  // Cluster IPs first: an author of EndpointSlices must not take the reverse name of another Service's cluster IP.
  for (const one of placed) if (one.hasClusterIPs) pointToClusterIPs(scope, one);
  for (const one of placed) compileLocalService(scope, one);
  if (zone.zone.pods !== "disabled") compilePods(scope);
}

/** A Service with a valid name. */
interface PlacedService {
  readonly scope: ServiceScope;
  readonly service: LocalService;
  readonly name: string;
  readonly hasClusterIPs: boolean;
  readonly namespaceNode: () => number;
  readonly serviceNode: () => number;
}

function placeService(
  { tree, zone }: LocalScope,
  key: string,
  service: LocalService,
): PlacedService | undefined {
  const slash = key.indexOf("/");
  const namespace = key.slice(0, slash);
  const name = key.slice(slash + 1);
  const { clusterId } = zone;
  const scope = new ServiceScope(tree, { kind: "Service", namespace, name }, 0);
  if (!zone.namespaces.has(namespace)) {
    scope.report(
      clusterId,
      "NoNamespace",
      `namespace ${namespace} does not exist in the cluster: the service is not served`,
    );
    return undefined;
  }
  if (!isObjectLabel(name) || !isObjectLabel(namespace)) {
    scope.report(
      clusterId,
      "InvalidName",
      `${key} cannot be labels of a DNS name: the service is not served`,
    );
    return undefined;
  }
  const { nodes } = tree.image.builder;
  const namespaceNode = () => nodes.child(nodes.child(tree.apex, "svc", 0), namespace, 0);
  const serviceNode = () => nodes.child(namespaceNode(), name, 0);
  const hasClusterIPs = service.serviceType !== "ExternalName" && !service.headless;
  return { scope, service, name, hasClusterIPs, namespaceNode, serviceNode };
}

/** Section 2.3.3: the PTR record of each cluster IP. */
function pointToClusterIPs({ zone, asker, leaseGroup }: LocalScope, placed: PlacedService): void {
  const { scope, service, serviceNode } = placed;
  for (const text of service.clusterIPs ?? []) {
    const octets = scope.address(text, zone.clusterId);
    if (octets !== undefined) scope.reverse(octets, { node: serviceNode(), asker, leaseGroup });
  }
}

function compileLocalService({ zone, asker, leaseGroup }: LocalScope, placed: PlacedService): void {
  const { scope, service, name, hasClusterIPs, namespaceNode, serviceNode } = placed;
  const { clusterId } = zone;
  if (service.serviceType === "ExternalName")
    compileExternalName(scope, clusterId, service, name, namespaceNode, leaseGroup);
  else if (hasClusterIPs) compileClusterIP(scope, clusterId, service, serviceNode(), leaseGroup);
  else compileHeadless(scope, clusterId, service, serviceNode, asker, leaseGroup);
}

/** Sections 2.3.1 and 2.3.2: A, AAAA and SRV of a Service with a cluster IP. */
function compileClusterIP(
  scope: ServiceScope,
  toldBy: string,
  { clusterIPs = [], ports }: LocalService,
  node: number,
  leaseGroup: number,
): void {
  const sets = new RecordSets();
  for (const text of clusterIPs) {
    const octets = scope.address(text, toldBy);
    if (octets !== undefined) sets.addAddress(octets, scope.tree.image.ttl, leaseGroup);
  }
  // An SRV target must have an address (RFC 2782). Until the Service has one, the names exist without records.
  const target = sets.isEmpty ? undefined : node;
  sets.addAll(
    writePortRecords(
      scope,
      node,
      ports.map((port) => ({ port, node: target, toldBy })),
      leaseGroup,
    ),
  );
  scope.write(node, sets, toldBy);
}

/** Section 2.4: every ready endpoint; NXDOMAIN if there is none. */
function compileHeadless(
  scope: ServiceScope,
  toldBy: string,
  { endpoints: groups, publishNotReadyAddresses = false }: LocalService,
  serviceNode: () => number,
  asker: number,
  leaseGroup: number,
): void {
  const endpoints: PlacedEndpoint[] = [];
  for (const { ports, members } of Object.values(groups))
    for (const { address, hostname, ready } of Object.values(members)) {
      if (ready === false && !publishNotReadyAddresses) continue;
      const octets = scope.address(address, toldBy);
      if (octets === undefined) continue;
      const node = scope.name(serviceNode(), [endpointLabel(scope, hostname, octets, toldBy)], toldBy);
      endpoints.push({ octets, ports, toldBy, node });
    }
  if (endpoints.length === 0) return;
  const node = serviceNode();
  const own = new RecordSets();
  for (const { octets } of endpoints) own.addAddress(octets, scope.tree.image.ttl, leaseGroup);
  own.addAll(writeEndpointRecords(scope, node, endpoints, leaseGroup, asker));
  scope.write(node, own, toldBy);
}

/** Section 2.5, and the multi-label CNAME proposal: a CNAME record at the Service's name, or at the dotted name that it owns. */
function compileExternalName(
  scope: ServiceScope,
  toldBy: string,
  { externalName, ownedName }: LocalService,
  name: string,
  namespaceNode: () => number,
  leaseGroup: number,
): void {
  const labels = ownedName === undefined ? [name] : ownedName.toLowerCase().split(".");
  if (!labels.every((label) => isHostLabel(label.replace(/^_/, "")))) {
    scope.report(
      toldBy,
      "InvalidName",
      `${JSON.stringify(ownedName)} cannot be labels of a DNS name: the CNAME record is not served`,
    );
    return;
  }
  let target: Uint8Array;
  try {
    target = parseName(externalName ?? "");
  } catch (error) {
    scope.report(
      toldBy,
      "InvalidExternalName",
      `the external name is not a DNS name (${(error as Error).message}): the CNAME record is not served`,
    );
    return;
  }
  const node = scope.name(namespaceNode(), labels, toldBy);
  if (node === undefined) return;
  const sets = new RecordSets();
  sets.addRdata(RecordType.CNAME, target, scope.tree.image.ttl, leaseGroup);
  scope.write(node, sets, toldBy);
}

/** Section 2.6, deprecated: `a-b-c-d.<ns>.pod.<zone>`, for any address or for those of real pods. */
function compilePods({ tree, zone, leaseGroup }: LocalScope): void {
  const { builder, ttl } = tree.image;
  const pod = builder.nodes.child(tree.apex, "pod", 0);
  const insecure = zone.zone.pods === "insecure";
  for (const namespace of [...zone.namespaces].sort()) {
    if (!isObjectLabel(namespace)) continue;
    const node = builder.nodes.child(pod, namespace, 0);
    if (!insecure) continue;
    const sets = new RecordSets();
    sets.addMarker(POD_NAMES, ttl, leaseGroup);
    builder.setRecords(node, sets);
  }
  if (insecure) return;
  for (const key of Object.keys(zone.pods).sort()) {
    const slash = key.indexOf("/");
    const namespace = key.slice(0, slash);
    const scope = new ServiceScope(tree, { kind: "Pod", namespace, name: key.slice(slash + 1) }, 0);
    if (!zone.namespaces.has(namespace) || !isObjectLabel(namespace)) continue;
    const octets = scope.address(key.slice(slash + 1), zone.clusterId);
    if (octets === undefined) continue;
    for (const label of podLabels(octets)) {
      const node = scope.name(builder.nodes.child(pod, namespace, 0), [label], zone.clusterId);
      if (node === undefined || builder.nodes.hasRecords(node)) continue;
      const sets = new RecordSets();
      sets.addAddress(octets, ttl, leaseGroup);
      builder.setRecords(node, sets);
    }
  }
}
