import { parseName, RecordType } from "../../dns/name.ts";
import { endsStep, type Steps } from "../../dns/steps.ts";
import type { ClustersetAddresses, ClustersetService } from "../../merge/clusterset.ts";
import type { ServicePort } from "../../snapshot/schema.ts";
import { RecordSets } from "../world.ts";
import {
  clusterIdLabels,
  endpointLabel,
  isObjectLabel,
  type PlacedEndpoint,
  type PortTarget,
  writeHeadless,
  writePortRecords,
} from "./endpoint-records.ts";
import { ServiceScope, type TreeScope } from "./tree-scope.ts";

/** Version of the multicluster DNS schema (specification section 1). */
export const CLUSTERSET_DNS_VERSION = "1.0.0";

/** Writes the names of one service in the clusterset zone (multicluster DNS specification 1.0.0). */
export function* compileClustersetService(tree: TreeScope, service: ClustersetService): Steps {
  const { namespace, name } = service;
  const scope = new ServiceScope(tree, { kind: "Service", namespace, name });
  if (!isObjectLabel(name) || !isObjectLabel(namespace)) {
    scope.report(
      service.reportedBy[0]!,
      "InvalidName",
      `${namespace}/${name} cannot be labels of a DNS name: the service is not served`,
    );
    return;
  }
  let known: number | undefined;
  const serviceNode = () => {
    known ??= scope.top(`${namespace}.svc`, name);
    return known;
  };
  if (service.type === "Headless") yield* compileHeadless(scope, service, serviceNode);
  else yield* compileClusterSetIP(scope, service, serviceNode());
}

/** Specification 2.3: A, AAAA, SRV and PTR of a service with ClusterSetIP. */
function* compileClusterSetIP(scope: ServiceScope, service: ClustersetService, node: number): Steps {
  const { names, clusterViews } = scope.tree.context;
  const reportedBy = service.reportedBy[0]!;
  const outside = addressSets(scope, service, node, service.outside, undefined);
  const variants = new Map<number, RecordSets>();
  const portsOf = new Map<number, readonly PortTarget[]>();
  // An SRV target must have an address, and is no alias (RFC 2782). Otherwise the names exist without
  // records.
  const targetsIn = (given: ClustersetAddresses, sets: RecordSets) => {
    const target = sets.isEmpty || given.hostname !== undefined ? undefined : node;
    return portsIn(service, given).map((port) => ({ port, node: target, reportedBy }));
  };
  const targets = targetsIn(service.outside, outside);
  for (const [clusterId, addresses] of service.byCluster) {
    if (!clusterViews.has(clusterId)) continue;
    const view = names.view(clusterId);
    const sets = addressSets(scope, service, node, addresses, clusterId);
    variants.set(view, sets);
    const own = targetsIn(addresses, sets);
    if (!areSameTargets(own, targets)) portsOf.set(view, own);
  }
  const group = names.leaseGroup(service.reportedBy);
  // The names of ports exist in every view, whichever has records there.
  const named = service.ports.map((port) => ({ port, node: undefined, reportedBy }));
  const { all, byView } = yield* writePortRecords(scope, node, [...targets, ...named], group, portsOf);
  outside.addAll(all);
  for (const [view, sets] of variants) sets.addAll(byView.get(view) ?? all);
  scope.write(node, outside, reportedBy, variants);
}

/**
 * The ports of a service where its addresses are: endpoints listen on numbers of their own (RFC 2782,
 * `targetPort`).
 */
export function portsIn(
  { ports }: Pick<ClustersetService, "ports">,
  { source, ports: listening = [] }: ClustersetAddresses,
): readonly ServicePort[] {
  if (source !== "Endpoint") return ports;
  return ports.flatMap((port) => {
    const own = listening.filter(
      ({ name, protocol }) => name === port.name && (protocol || "TCP") === port.protocol,
    );
    return own.length === 0 ? port : own.map(({ port: number }) => ({ ...port, port: number }));
  });
}

function areSameTargets(one: readonly PortTarget[], other: readonly PortTarget[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ port, node }, index) => node === other[index]!.node && port.port === other[index]!.port.port)
  );
}

function addressSets(
  scope: ServiceScope,
  service: ClustersetService,
  node: number,
  given: ClustersetAddresses,
  view: string | undefined,
): RecordSets {
  const { names, ttl } = scope.tree.context;
  const sets = new RecordSets();
  const clusters = [...new Set([...given.reportedBy, ...service.reportedBy])];
  const group = names.leaseGroup(clusters);
  for (const text of given.addresses) {
    const bytes = scope.address(text, given.reportedBy[0]!);
    if (bytes === undefined) continue;
    sets.addAddress(bytes, ttl, group);
    // Specification 2.3.3 covers clusterset IPs only: load balancers and pods have reverse names of their
    // own.
    if (given.source !== "ClusterSetIP") continue;
    const reporters = given.reporters?.get(text) ?? given.reportedBy;
    const since = service.since.get(reporters[0]!) ?? Number.POSITIVE_INFINITY;
    const claimants = view === undefined ? reporters : undefined;
    const above = [service.namespace, "svc"];
    scope.reverse(bytes, node, {
      view,
      rank: 2,
      since,
      clusters,
      above,
      label: service.name,
      claimants,
    });
  }
  if (sets.isEmpty && given.hostname !== undefined)
    sets.addRdata(RecordType.CNAME, parseName(given.hostname), ttl, group);
  return sets;
}

/** Specification 2.4: a headless service. */
function* compileHeadless(scope: ServiceScope, service: ClustersetService, serviceNode: () => number): Steps {
  const endpoints: PlacedEndpoint[] = [];
  const labelsOf = new Map<string, readonly string[] | undefined>();
  for (const [index, { address, hostname, clusterId, reportedBy, ports }] of service.endpoints.entries()) {
    if (endsStep(index)) yield;
    const bytes = scope.address(address, reportedBy);
    if (bytes === undefined) continue;
    if (!labelsOf.has(clusterId)) labelsOf.set(clusterId, clusterIdLabels(clusterId));
    const cluster = labelsOf.get(clusterId);
    if (cluster === undefined)
      scope.report(
        reportedBy,
        "InvalidSourceCluster",
        `the source cluster ${JSON.stringify(clusterId)} is not a cluster id (one RFC 1123 label, or two joined by a dot): its endpoints have no names of their own`,
      );
    const label = cluster && endpointLabel(scope, hostname, bytes, reportedBy);
    const node =
      label === undefined ? undefined : scope.name(serviceNode(), [label, ...cluster!], reportedBy);
    const reverse = {
      view: undefined,
      rank: 2 as const,
      claimants: [reportedBy],
      since: service.since.get(reportedBy) ?? Number.POSITIVE_INFINITY,
      label: label === hostname ? label : undefined,
      above: [...(cluster ?? []), service.name, service.namespace, "svc"],
    };
    endpoints.push({ bytes, ports, reportedBy, node, reverse });
  }
  yield* writeHeadless(scope, serviceNode, endpoints);
}
