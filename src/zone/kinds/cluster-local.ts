import { parseName, RecordType } from "../../dns/name.ts";
import { compareText } from "../../merge/order.ts";
import type { LocalService } from "../../snapshot/schema.ts";
import { RecordSets } from "../record-block.ts";
import {
  endpointLabel,
  isHostLabel,
  isObjectLabel,
  type PlacedEndpoint,
  podLabels,
  writeEndpointRecords,
  writePortRecords,
} from "./endpoint-records.ts";
import { ServiceScope, type TreeScope } from "./tree-scope.ts";

/** Version of the DNS-based service discovery schema (specification section 1). */
export const CLUSTER_LOCAL_DNS_VERSION = "1.0.1";

/** What a cluster has of one key, `<namespace>/<label left of it>`, in its own zone. */
interface LocalKey {
  readonly clusterId: string;
  readonly key: string;
  readonly hasNamespace: boolean;
  /** Services with such names, by `<namespace>/<name>`. */
  readonly services: ReadonlyMap<string, LocalService>;
  /** `<namespace>/<address>` of the pods with such a name. */
  readonly pods: readonly string[];
}

/** The context of a cluster's own zone: its reverse names exist only in its own view. */
interface LocalScope {
  readonly tree: TreeScope;
  readonly cluster: LocalKey;
  readonly clusters: readonly string[];
  readonly leaseGroup: number;
}

/** Writes those names of a cluster's own zone that have one key (DNS-based service discovery 1.0.1). If two objects claim one name, the older one wins. */
export function compileClusterLocal(tree: TreeScope, cluster: LocalKey): void {
  const { clusterId, key, services, pods } = cluster;
  const clusters = [clusterId];
  const scope = { tree, cluster, clusters, leaseGroup: tree.context.names.leaseGroup(clusters) };
  const oldestFirst = Array.from(services, ([own, service]) => {
    return { key: own, service, since: Date.parse(service.createdAt) };
  }).sort((one, other) => one.since - other.since || compareText(one.key, other.key));
  const placed = oldestFirst.flatMap(
    ({ key: own, service, since }) => placeService(scope, own, service, since) ?? [],
  );
  for (const one of placed) if (one.hasClusterIPs) pointToClusterIPs(scope, one);
  for (const one of placed) compileLocalService(scope, one);
  compilePods(scope, key.slice(key.indexOf("/") + 1), pods);
}

/** A Service with a valid name. */
interface PlacedService {
  readonly scope: ServiceScope;
  readonly service: LocalService;
  readonly name: string;
  readonly namespace: string;
  /** When it was created, in Unix milliseconds. */
  readonly since: number;
  readonly hasClusterIPs: boolean;
  readonly serviceNode: () => number;
}

function placeService(
  { tree, cluster }: LocalScope,
  key: string,
  service: LocalService,
  since: number,
): PlacedService | undefined {
  const slash = key.indexOf("/");
  const namespace = key.slice(0, slash);
  const name = key.slice(slash + 1);
  const { clusterId, hasNamespace } = cluster;
  const scope = new ServiceScope(tree, { kind: "Service", namespace, name });
  if (!hasNamespace) {
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
  const serviceNode = () => scope.top(`${namespace}.svc`, name);
  const hasClusterIPs = service.serviceType !== "ExternalName" && !service.headless;
  return { scope, service, name, namespace, since, hasClusterIPs, serviceNode };
}

/**
 * Section 2.3.3: the PTR record of each cluster IP. It comes before those of endpoints: an author of EndpointSlices must not take the reverse name
 * of another Service's cluster IP.
 */
function pointToClusterIPs({ cluster, clusters }: LocalScope, placed: PlacedService): void {
  const { scope, service, serviceNode, name, namespace, since } = placed;
  for (const text of service.clusterIPs ?? []) {
    const bytes = scope.address(text, cluster.clusterId);
    if (bytes === undefined) continue;
    const above = [namespace, "svc"];
    scope.reverse(bytes, serviceNode(), {
      view: cluster.clusterId,
      rank: 0,
      since,
      clusters,
      above,
      label: name,
    });
  }
}

function compileLocalService({ cluster, leaseGroup }: LocalScope, placed: PlacedService): void {
  const { service, hasClusterIPs } = placed;
  const { clusterId } = cluster;
  if (service.serviceType === "ExternalName") compileExternalName(placed, clusterId, leaseGroup);
  else if (hasClusterIPs) compileClusterIP(placed, clusterId, leaseGroup);
  else compileHeadless(placed, clusterId, leaseGroup);
}

/** Sections 2.3.1 and 2.3.2: A, AAAA and SRV of a Service with a cluster IP. */
function compileClusterIP(
  { scope, service, serviceNode }: PlacedService,
  reportedBy: string,
  leaseGroup: number,
): void {
  const { clusterIPs = [], ports } = service;
  const node = serviceNode();
  const sets = new RecordSets();
  for (const text of clusterIPs) {
    const bytes = scope.address(text, reportedBy);
    if (bytes !== undefined) sets.addAddress(bytes, scope.tree.context.ttl, leaseGroup);
  }
  // An SRV target must have an address (RFC 2782). Until the Service has one, the names exist without records.
  const target = sets.isEmpty ? undefined : node;
  const targets = ports.map((port) => ({ port, node: target, reportedBy }));
  sets.addAll(writePortRecords(scope, node, targets, leaseGroup).all);
  scope.write(node, sets, reportedBy);
}

/** Section 2.4: every ready endpoint; NXDOMAIN if there is none. */
function compileHeadless(placed: PlacedService, reportedBy: string, leaseGroup: number): void {
  const { scope, service, serviceNode, name, namespace, since } = placed;
  const { endpoints: groups, publishNotReadyAddresses = false } = service;
  const { ttl } = scope.tree.context;
  const endpoints: PlacedEndpoint[] = [];
  const wish = { view: reportedBy, rank: 1, since, above: [name, namespace, "svc"] } as const;
  for (const { ports, members } of inOrder(groups))
    for (const { address, hostname, ready } of inOrder(members)) {
      if (ready === false && !publishNotReadyAddresses) continue;
      const bytes = scope.address(address, reportedBy);
      if (bytes === undefined) continue;
      const label = endpointLabel(scope, hostname, bytes, reportedBy);
      const node = scope.name(serviceNode(), [label], reportedBy);
      const reverse = { ...wish, label: label === hostname ? label : undefined };
      endpoints.push({ bytes, ports, reportedBy, node, reverse });
    }
  if (endpoints.length === 0) return;
  const node = serviceNode();
  const own = new RecordSets();
  for (const { bytes } of endpoints) {
    own.addAddress(bytes, ttl, leaseGroup);
  }
  own.addAll(writeEndpointRecords(scope, node, endpoints, leaseGroup));
  scope.write(node, own, reportedBy);
}

/** Values by ascending key: equal tables have them in one order, whatever the order in which they were filled. */
function inOrder<Value>(table: Readonly<Record<string, Value>>): Value[] {
  return Object.keys(table)
    .sort()
    .map((key) => table[key]!);
}

/** Section 2.5, and the multi-label CNAME proposal: a CNAME record at the Service's name, or at the dotted name that it owns. */
function compileExternalName(
  { scope, service, name, namespace }: PlacedService,
  reportedBy: string,
  leaseGroup: number,
): void {
  const { externalName, ownedName } = service;
  const labels = ownedName === undefined ? [name] : ownedName.toLowerCase().split(".");
  if (!labels.every((label) => isHostLabel(label.replace(/^_/, "")))) {
    scope.report(
      reportedBy,
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
      reportedBy,
      "InvalidExternalName",
      `the external name is not a DNS name (${(error as Error).message}): the CNAME record is not served`,
    );
    return;
  }
  const node = scope.name(`${namespace}.svc`, labels, reportedBy);
  if (node === undefined) return;
  const sets = new RecordSets();
  sets.addRdata(RecordType.CNAME, target, scope.tree.context.ttl, leaseGroup);
  scope.write(node, sets, reportedBy);
}

/** Section 2.6, deprecated: `a-b-c-d.<ns>.pod.<zone>` for the addresses of real pods. */
function compilePods(
  { tree, cluster, leaseGroup }: LocalScope,
  label: string,
  pods: readonly string[],
): void {
  const { names, ttl } = tree.context;
  for (const key of [...pods].sort()) {
    const slash = key.indexOf("/");
    const namespace = key.slice(0, slash);
    const scope = new ServiceScope(tree, { kind: "Pod", namespace, name: key.slice(slash + 1) });
    if (!cluster.hasNamespace || !isObjectLabel(namespace)) continue;
    const bytes = scope.address(key.slice(slash + 1), cluster.clusterId);
    // A pod with two labels has two keys: each has one of its names.
    if (bytes === undefined || !podLabels(bytes).includes(label)) continue;
    const node = scope.name(`${namespace}.pod`, [label], cluster.clusterId);
    if (node === undefined || names.hasRecords(node)) continue;
    const sets = new RecordSets();
    sets.addAddress(bytes, ttl, leaseGroup);
    names.setRecords(node, sets);
  }
}
