import { type AddressSource, DEFAULT_OUTSIDE_ORDER, type OwnAddresses } from "./addresses.ts";
import type { ClusterFinding, ClustersetService, Conflict, ServiceName } from "./clusterset.ts";
import type { Contribution } from "./declaration.ts";
import type { Grants } from "./grants.ts";
import { createPinTable, PINNED, type Pins, type PinTable } from "./grants.ts";
import { nameOf, namespaceOf } from "./order.ts";
import { mergeService, type ServiceRules } from "./service.ts";

/** How services are merged. */
export interface MergeOptions {
  /**
   * The first source from which the oldest export with an address has one counts. Default: ClusterSetIP,
   * LoadBalancer, Endpoint.
   */
  readonly outsideOrder?: readonly AddressSource[];
  /** For which other clusters importers speak. Default: each for all. */
  readonly grants?: Grants | undefined;
  /** What clusters may export, and whose export decides. Default: anything, and the oldest. */
  readonly pins?: Pins | undefined;
}

/** What services are merged by. */
export interface MergeRules extends ServiceRules {
  readonly pins: PinTable;
}

/**
 * The rules of options.
 * @param zones the names of the gateway's own zones: those that clusters report must not change what others
 * export
 */
export function rulesOf(
  { outsideOrder = DEFAULT_OUTSIDE_ORDER, grants, pins }: MergeOptions = {},
  zones: readonly string[] = [],
): MergeRules {
  return { outsideOrder, grants, zones, pins: createPinTable(pins) };
}

/**
 * What there is to say of the objects of one namespaced name; `service` is undefined where no cluster has a
 * part in it that counts.
 */
export interface MergedKey {
  readonly service: ClustersetService | undefined;
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

/** What clusters contribute to one service, as far as it exists in a scope. */
export interface KeyParts {
  /** By ascending cluster id, also of clusters that do not have the namespace. */
  readonly contributions: readonly Contribution[];
  /** Those of these clusters that have the namespace. */
  readonly clusters: ReadonlySet<string>;
  /** `clusters` of exports of clusters that are not live, by cluster. */
  readonly lapsed?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** What counts of the parts that clusters have in one service, and a finding for each part that does not. */
interface CountedParts {
  readonly contributions: readonly Contribution[];
  /**
   * `spec.ips` of the ServiceImports that workers made from the desired state, by cluster: no parts, see
   * `Contribution.managed`.
   */
  readonly ownAddresses: OwnAddresses;
  readonly findings: readonly ClusterFinding[];
}

/**
 * Merges what clusters contribute to one service. What a cluster still holds under a namespace that it does
 * not have is gone with the namespace (KEP-1645, Terminology); what it may not export is left out. @param
 * viewers the clusters that have a view of the namespace
 */
export function mergeKey(
  key: string,
  parts: KeyParts,
  viewers: readonly string[],
  rules: MergeRules,
): MergedKey {
  const { contributions, ownAddresses, findings } = countParts(key, parts, rules.pins);
  if (contributions.length === 0) return { service: undefined, conflicts: [], findings };
  const named = { namespace: namespaceOf(key), name: nameOf(key) };
  const merged = mergeService(named, contributions, viewers, rules, ownAddresses);
  return { ...merged, findings: [...findings, ...merged.findings] };
}

/** The parts of clusters in one service, without those that namespaces and pins rule out. */
export function countParts(key: string, parts: KeyParts, pins: PinTable): CountedParts {
  const service = { namespace: namespaceOf(key), name: nameOf(key) };
  const { namespace } = service;
  const owner = pins.ownerOf(key);
  const findings: ClusterFinding[] = [];
  const contributions: Contribution[] = [];
  const ownAddresses = new Map<string, readonly string[]>();
  for (const one of parts.contributions) {
    const { clusterId, exported, imported, managed } = one;
    if (managed !== undefined && parts.clusters.has(clusterId)) ownAddresses.set(clusterId, managed.ips);
    if (exported === undefined && imported === undefined) continue;
    const kind = exported === undefined ? "ServiceImport" : "ServiceExport";
    if (!parts.clusters.has(clusterId)) {
      const message = `namespace ${JSON.stringify(namespace)} does not exist in the cluster; it is left out`;
      findings.push({ clusterId, reason: "NoNamespace", kind, ...service, message });
    } else if (exported === undefined) contributions.push(one);
    else if (pins.mayExport(clusterId, key))
      contributions.push(owner === clusterId ? { ...one, adjusted: PINNED } : one);
    else {
      const message = `push.credentials[].exports does not let ${clusterId} export this service; its export is left out`;
      findings.push({ clusterId, reason: "ExportNotAllowed", kind, ...service, message });
      if (imported !== undefined) contributions.push({ ...one, exported: undefined, adjusted: undefined });
    }
  }
  if (owner !== undefined) findings.push(...findMissingOwner(service, owner, contributions));
  return { contributions, ownAddresses, findings };
}

function findMissingOwner(
  service: ServiceName,
  owner: string,
  contributions: readonly Contribution[],
): ClusterFinding[] {
  const exporters = contributions.filter(({ exported }) => exported !== undefined);
  if (exporters.some(({ clusterId }) => clusterId === owner)) return [];
  const message =
    "the cluster that the setting services names as the owner does not export this service; the oldest export decides";
  return exporters.map(({ clusterId }) => ({
    clusterId,
    reason: "OwnerNotExporting",
    kind: "ServiceExport",
    ...service,
    message,
  }));
}
