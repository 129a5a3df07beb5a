import type { ClustersetAddresses, ClustersetService } from "../../merge/clusterset.ts";
import { endpointLabel, type PlacedEndpoint, writeEndpointRecords } from "../endpoint-records.ts";
import { ANY_ASKER } from "../image/layout.ts";
import { writePortRecords } from "../port-records.ts";
import { RecordSets } from "../record-sets.ts";
import { clusterIdLabels, isObjectLabel } from "../service-labels.ts";
import { ServiceScope, type TreeScope } from "../tree-scope.ts";

/** Version of the multicluster DNS schema (specification section 1). */
export const CLUSTERSET_DNS_VERSION = "1.0.0";

/** Writes the names of one service in the clusterset zone (multicluster DNS specification 1.0.0). */
export function compileClustersetService(tree: TreeScope, service: ClustersetService): void {
  const { namespace, name } = service;
  const { builder } = tree.image;
  const namespaceIndex = builder.namespace(namespace);
  const scope = new ServiceScope(tree, { kind: "Service", namespace, name }, namespaceIndex);
  if (!isObjectLabel(name) || !isObjectLabel(namespace)) {
    scope.report(
      service.toldBy[0] ?? "",
      "InvalidName",
      `${namespace}/${name} cannot be labels of a DNS name: the service is not served`,
    );
    return;
  }
  const { nodes } = builder;
  let known: number | undefined;
  const serviceNode = () => {
    known ??= nodes.child(
      nodes.child(nodes.child(tree.apex, "svc", 0), namespace, namespaceIndex),
      name,
      namespaceIndex,
    );
    return known;
  };
  if (service.type === "Headless") compileHeadless(scope, service, serviceNode);
  else compileClusterSetIP(scope, service, serviceNode());
}

/** Specification 2.3: A, AAAA, SRV and PTR of a service with ClusterSetIP. */
function compileClusterSetIP(scope: ServiceScope, service: ClustersetService, node: number): void {
  const { builder, views } = scope.tree.image;
  const toldBy = service.toldBy[0] ?? "";
  const outside = addressSets(scope, service, node, service.outside, ANY_ASKER);
  const variants = new Map<number, RecordSets>();
  for (const [clusterId, addresses] of service.byCluster) {
    const view = views.get(clusterId);
    if (view !== undefined) variants.set(view, addressSets(scope, service, node, addresses, view + 1));
  }
  // An SRV target must have an address (RFC 2782). In a view without one, the names exist without records.
  const having = [...variants].flatMap(([view, sets]) => (sets.isEmpty ? [] : view));
  const target = outside.isEmpty && having.length === 0 ? undefined : node;
  const services = writePortRecords(
    scope,
    node,
    service.ports.map((port) => ({ port, node: target, toldBy })),
    builder.leaseGroup(service.toldBy),
    outside.isEmpty && target !== undefined ? having : undefined,
  );
  const forAll = !outside.isEmpty;
  if (forAll) outside.addAll(services);
  for (const sets of variants.values()) if (forAll || !sets.isEmpty) sets.addAll(services);
  scope.write(node, outside, toldBy, variants);
}

function addressSets(
  scope: ServiceScope,
  service: ClustersetService,
  node: number,
  given: ClustersetAddresses,
  asker: number,
): RecordSets {
  const { builder, ttl } = scope.tree.image;
  const sets = new RecordSets();
  const group = builder.leaseGroup([...given.toldBy, ...service.toldBy]);
  for (const text of given.addresses) {
    const octets = scope.address(text, given.toldBy[0] ?? "");
    if (octets === undefined) continue;
    sets.addAddress(octets, ttl, group);
    // Specification 2.3.3 covers clusterset IPs only: load balancers and pods have reverse names of their own.
    if (given.source !== "ClusterSetIP") continue;
    const reporters = given.tellers?.get(text) ?? given.toldBy;
    const since = service.since.get(reporters[0]!) ?? Number.POSITIVE_INFINITY;
    const claim = asker === ANY_ASKER ? scope.claim(reporters, since) : undefined;
    scope.reverse(octets, { node, asker, leaseGroup: group, claim, since });
  }
  return sets;
}

/** Specification 2.4: a headless service. Without a ready endpoint it has no names, so the answer is NXDOMAIN. */
function compileHeadless(scope: ServiceScope, service: ClustersetService, serviceNode: () => number): void {
  const endpoints: PlacedEndpoint[] = [];
  const labelsOf = new Map<string, readonly string[] | undefined>();
  for (const { address, hostname, clusterId, toldBy, ports } of service.endpoints) {
    const octets = scope.address(address, toldBy);
    if (octets === undefined) continue;
    if (!labelsOf.has(clusterId)) labelsOf.set(clusterId, clusterIdLabels(clusterId));
    const cluster = labelsOf.get(clusterId);
    if (cluster === undefined)
      scope.report(
        toldBy,
        "InvalidSourceCluster",
        `the source cluster ${JSON.stringify(clusterId)} is not a cluster id (one RFC 1123 label, or two joined by a dot): its endpoints have no names of their own`,
      );
    const node =
      cluster === undefined
        ? undefined
        : scope.name(serviceNode(), [endpointLabel(scope, hostname, octets, toldBy), ...cluster], toldBy);
    const claim = scope.claim([toldBy], service.since.get(toldBy) ?? Number.POSITIVE_INFINITY);
    endpoints.push({ octets, ports, toldBy, node, claim });
  }
  if (endpoints.length === 0) return;
  const { builder, ttl } = scope.tree.image;
  const node = serviceNode();
  const group = builder.leaseGroup(endpoints.map(({ toldBy }) => toldBy));
  const own = new RecordSets();
  for (const { octets } of endpoints) own.addAddress(octets, ttl, group);
  own.addAll(writeEndpointRecords(scope, node, endpoints, group, ANY_ASKER));
  scope.write(node, own, endpoints[0]!.toldBy);
}
