import { canonicalName, parseName, RecordType } from "../../dns/name.ts";
import { endsStep, type Steps } from "../../dns/steps.ts";
import { compareText } from "../../merge/order.ts";
import type { LocalService } from "../../snapshot/schema.ts";
import { RecordSets } from "../world.ts";
import {
  endpointLabel,
  isHostLabel,
  isObjectLabel,
  type PlacedEndpoint,
  podLabels,
  writeHeadless,
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

/**
 * Writes those names of a cluster's own zone that have one key (DNS-based service discovery 1.0.1). If two
 * objects claim one name, the older one wins.
 */
export function* compileClusterLocal(tree: TreeScope, local: LocalKey): Steps {
  const { clusterId, services } = local;
  const leaseGroup = tree.context.names.leaseGroup([clusterId]);
  const placed = Array.from(services, ([key, service]) => ({
    key,
    service,
    since: Date.parse(service.createdAt),
  }))
    .sort((one, other) => one.since - other.since || compareText(one.key, other.key))
    .flatMap((one) => placeService(tree, local, { ...one, clusterId, leaseGroup }) ?? []);
  for (const one of placed) if (one.hasClusterIPs) pointToClusterIPs(one);
  for (const one of placed)
    if (one.service.serviceType === "ExternalName") compileExternalName(one);
    else if (one.hasClusterIPs) yield* compileClusterIP(one);
    else yield* compileHeadless(one);
  compilePods(tree, local, leaseGroup);
}

/** A Service of a cluster. */
interface OwnService {
  readonly key: string;
  readonly service: LocalService;
  /** When it was created, in Unix milliseconds. */
  readonly since: number;
  readonly clusterId: string;
  readonly leaseGroup: number;
}

/** A Service with a valid name. */
type PlacedService = NonNullable<ReturnType<typeof placeService>>;

function placeService(tree: TreeScope, { hasNamespace }: LocalKey, own: OwnService) {
  const { key, service, clusterId } = own;
  const slash = key.indexOf("/");
  const namespace = key.slice(0, slash);
  const name = key.slice(slash + 1);
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
  return { ...own, scope, name, namespace, hasClusterIPs, serviceNode };
}

/**
 * Section 2.3.3: the PTR record of each cluster IP. It comes before those of endpoints: an author of
 * EndpointSlices must not take the reverse name of another Service's cluster IP.
 */
function pointToClusterIPs(placed: PlacedService): void {
  const { scope, service, serviceNode, name, namespace, since, clusterId } = placed;
  const wish = { view: clusterId, rank: 0, since, clusters: [clusterId], above: [namespace, "svc"] } as const;
  for (const text of service.clusterIPs ?? []) {
    const bytes = scope.address(text, clusterId);
    if (bytes !== undefined) scope.reverse(bytes, serviceNode(), { ...wish, label: name });
  }
}

/** Sections 2.3.1 and 2.3.2: A, AAAA and SRV of a Service with a cluster IP. */
function* compileClusterIP(placed: PlacedService): Steps {
  const { scope, service, serviceNode, clusterId: reportedBy, leaseGroup } = placed;
  const { clusterIPs = [], ports } = service;
  const node = serviceNode();
  const sets = new RecordSets();
  for (const text of clusterIPs) {
    const bytes = scope.address(text, reportedBy);
    if (bytes !== undefined) sets.addAddress(bytes, scope.tree.context.ttl, leaseGroup);
  }
  // An SRV target must have an address (RFC 2782). Until the Service has one, the names exist without
  // records.
  const target = sets.isEmpty ? undefined : node;
  const targets = ports.map((port) => ({ port, node: target, reportedBy }));
  sets.addAll((yield* writePortRecords(scope, node, targets, leaseGroup)).all);
  scope.write(node, sets, reportedBy);
}

/** Section 2.4: every ready endpoint; NXDOMAIN if there is none. */
function* compileHeadless(placed: PlacedService): Steps {
  const { scope, service, serviceNode, name, namespace, since, clusterId: reportedBy } = placed;
  const endpoints: PlacedEndpoint[] = [];
  const wish = { view: reportedBy, rank: 1, since, above: [name, namespace, "svc"] } as const;
  for (const { ports, members } of inOrder(service.endpoints))
    for (const { address, hostname, ready } of inOrder(members)) {
      if (ready === false && service.publishNotReadyAddresses !== true) continue;
      if (endsStep(endpoints.length)) yield;
      const bytes = scope.address(address, reportedBy);
      if (bytes === undefined) continue;
      const label = endpointLabel(scope, hostname, bytes, reportedBy);
      const node = scope.name(serviceNode(), [label], reportedBy);
      const reverse = { ...wish, label: label === hostname ? label : undefined };
      endpoints.push({ bytes, ports, reportedBy, node, reverse });
    }
  yield* writeHeadless(scope, serviceNode, endpoints);
}

/**
 * Values by ascending key: equal tables have them in one order, whatever the order in which they were filled.
 */
function inOrder<Value>(table: Readonly<Record<string, Value>>): Value[] {
  return Object.keys(table)
    .sort()
    .map((key) => table[key]!);
}

/**
 * Section 2.5, and the multi-label CNAME proposal: a CNAME record at the Service's name, or at the dotted
 * name that it owns. Without a possible target the name exists without records.
 */
function compileExternalName(placed: PlacedService): void {
  const { scope, service, name, namespace, clusterId: reportedBy, leaseGroup } = placed;
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
  const node = scope.name(`${namespace}.svc`, labels, reportedBy);
  if (node === undefined) return;
  const own = [...labels, namespace, "svc", scope.tree.canonicalZone.name].join(".");
  const problem = externalNameProblem(externalName ?? "", own);
  if (problem !== undefined) {
    scope.report(
      reportedBy,
      "InvalidExternalName",
      `the external name ${problem}: the CNAME record is not served`,
    );
    return;
  }
  const sets = new RecordSets();
  sets.addRdata(RecordType.CNAME, parseName(externalName!), scope.tree.context.ttl, leaseGroup);
  scope.write(node, sets, reportedBy);
}

/** What is wrong with an external name. @param own the name of the CNAME record, in lower case */
function externalNameProblem(text: string, own: string): string | undefined {
  try {
    const target = canonicalName(text);
    if (target === own) return "is that of the Service itself";
    const labels = target.slice(0, -1).split(".");
    const isHostName = labels.every((label) => isHostLabel(label.replaceAll("_", "x")));
    return isHostName ? undefined : `${JSON.stringify(text)} is not a host name`;
  } catch (error) {
    return `is not a DNS name (${(error as Error).message})`;
  }
}

/** Section 2.6, deprecated: `a-b-c-d.<ns>.pod.<zone>` for the addresses of real pods. */
function compilePods(tree: TreeScope, local: LocalKey, leaseGroup: number): void {
  const { clusterId, hasNamespace, pods } = local;
  const { names, ttl } = tree.context;
  const label = local.key.slice(local.key.indexOf("/") + 1);
  for (const key of [...pods].sort()) {
    const slash = key.indexOf("/");
    const namespace = key.slice(0, slash);
    const scope = new ServiceScope(tree, { kind: "Pod", namespace, name: key.slice(slash + 1) });
    if (!hasNamespace || !isObjectLabel(namespace)) continue;
    const bytes = scope.address(key.slice(slash + 1), clusterId);
    // A pod with two labels has two keys: each has one of its names.
    if (bytes === undefined || !podLabels(bytes).includes(label)) continue;
    const node = scope.name(`${namespace}.pod`, [label], clusterId);
    if (node === undefined || names.hasRecords(node)) continue;
    const sets = new RecordSets();
    sets.addAddress(bytes, ttl, leaseGroup);
    names.setRecords(node, sets);
  }
}
