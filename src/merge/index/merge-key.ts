import type { ClusterFinding, ClustersetService, Conflict } from "../clusterset.ts";
import type { Grants } from "../grants.ts";
import { PINNED, type PinTable } from "../pins.ts";
import type { AddressSource, OwnAddresses } from "../service/addresses.ts";
import type { Contribution } from "../service/declaration.ts";
import { mergeService } from "../service/service.ts";
import { nameOf, namespaceOf } from "../service-key.ts";

/** What services are merged by. */
export interface MergeRules {
  readonly outsideOrder: readonly AddressSource[];
  readonly grants: Grants | undefined;
  readonly pins: PinTable;
}

/** What there is to say of the objects of one namespaced name; `service` is undefined where no cluster has a part in it that counts. */
export interface MergedKey {
  readonly service: ClustersetService | undefined;
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

/** What clusters contribute to services, as far as it exists in a scope. */
export interface Contributions {
  /** By ascending cluster id, also to namespaces that clusters do not have. */
  contributions(key: string): readonly Contribution[];
  /** Whether a cluster has the namespace of a service. */
  isThere(clusterId: string, key: string): boolean;
  /** The clusters that have a view of a namespace. @param withAbsent whether there is a view of clusters that are not live, too */
  viewers(namespace: string, withAbsent: boolean): readonly string[];
}

/** What counts of the parts that clusters have in one service, and a finding for each part that does not. */
export interface CountedParts {
  readonly contributions: readonly Contribution[];
  /** `spec.ips` of the ServiceImports that workers made from the desired state, by cluster: no parts, see `Contribution.managed`. */
  readonly ownAddresses: OwnAddresses;
  readonly findings: readonly ClusterFinding[];
}

/**
 * Merges what clusters contribute to one service. What a cluster still holds under a namespace that it does not have is gone with the
 * namespace (KEP-1645, Terminology); what it may not export is left out. In steps.
 */
export function* mergeKey(
  index: Contributions,
  key: string,
  rules: MergeRules,
  withAbsent: boolean,
): Generator<void, MergedKey> {
  const { contributions, ownAddresses, findings } = countParts(index, key, rules.pins);
  if (contributions.length === 0) return { service: undefined, conflicts: [], findings };
  const [namespace, name] = [namespaceOf(key), nameOf(key)];
  const viewers = index.viewers(namespace, withAbsent);
  const { outsideOrder, grants } = rules;
  const merged = yield* mergeService(
    ...([namespace, name, contributions, viewers, outsideOrder, grants] as const),
    ownAddresses,
  );
  return { ...merged, findings: [...findings, ...merged.findings] };
}

/** The parts of clusters in one service, without those that namespaces and pins rule out. */
export function countParts(index: Omit<Contributions, "viewers">, key: string, pins: PinTable): CountedParts {
  const service = { namespace: namespaceOf(key), name: nameOf(key) };
  const { namespace } = service;
  const owner = pins.ownerOf(key);
  const findings: ClusterFinding[] = [];
  const contributions: Contribution[] = [];
  const ownAddresses = new Map<string, readonly string[]>();
  for (const one of index.contributions(key)) {
    const { clusterId, exported, imported, managed } = one;
    if (managed !== undefined && index.isThere(clusterId, key)) ownAddresses.set(clusterId, managed.ips);
    if (exported === undefined && imported === undefined) continue;
    const kind = exported === undefined ? "ServiceImport" : "ServiceExport";
    if (!index.isThere(clusterId, key)) {
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
  service: { readonly namespace: string; readonly name: string },
  owner: string,
  contributions: readonly Contribution[],
): ClusterFinding[] {
  const exporters = contributions.filter(({ exported }) => exported !== undefined);
  if (exporters.some(({ clusterId }) => clusterId === owner)) return [];
  const message =
    "the cluster that the setting services names as the owner does not export this service; the oldest export decides";
  return exporters.map(({ clusterId }) => ({
    ...{ clusterId, reason: "OwnerNotExporting", kind: "ServiceExport" },
    ...service,
    message,
  }));
}
