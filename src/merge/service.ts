import { UNDATED } from "../snapshot/schema.ts";
import {
  type AddressSource,
  chooseAddresses,
  keepHostNames,
  NO_ADDRESSES,
  type OwnAddresses,
} from "./addresses.ts";
import type { ClusterFinding, ClustersetService, ServiceName, Shard } from "./clusterset.ts";
import { type ConflictSubject, findConflicts } from "./conflicts.ts";
import {
  type AdjustedTime,
  type Contribution,
  type Declaration,
  declareExports,
  declareImports,
  exportedSince,
  inSeconds,
} from "./declaration.ts";
import { describePort, gatherEndpoints, type PortUnion, unitePorts } from "./endpoints.ts";
import { applyGrants, type GrantedContributions, type Grants, PINNED } from "./grants.ts";

/** What a service is merged by. */
export interface ServiceRules {
  /** The sources of addresses for clients outside. */
  readonly outsideOrder: readonly AddressSource[];
  /** For which other clusters importers speak; each for all where it is undefined. */
  readonly grants?: Grants | undefined;
  /** The names of all zones of the gateway. */
  readonly zones: readonly string[];
}

/** What clusters state of one service, in order of precedence: the first declaration decides. */
export interface DeclaredService extends GrantedContributions {
  /** Whether ServiceExports decide; else the ServiceImports do. */
  readonly isExported: boolean;
  /** At least one. */
  readonly declarations: readonly Declaration[];
  readonly union: PortUnion;
}

/** Orders what clusters contribute to one service, at least one contribution, by who decides. */
export function declareService(
  service: ServiceName,
  reported: readonly Contribution[],
  grants?: Grants,
): DeclaredService {
  const granted = applyGrants(service, reported, grants);
  const { contributions, countsForOthers } = granted;
  const exports = declareExports(contributions);
  const isExported = exports.length > 0;
  const declarations = isExported
    ? exports
    : declareImports(contributions.filter(({ clusterId }) => countsForOthers(clusterId)));
  return { ...granted, isExported, declarations, union: unitePorts(declarations) };
}

/**
 * Derives one service from what the live clusters contribute, in order of cluster id, at least one (KEP-1645,
 * Constraints and Conflict Resolution). Exports decide; without any, the ServiceImports do. `viewers` are the
 * clusters that have the namespace, `ownAddresses` those of ServiceImports that workers made from the desired
 * state.
 */
export function mergeService(
  named: ServiceName,
  reported: readonly Contribution[],
  viewers: readonly string[],
  { outsideOrder, grants, zones }: ServiceRules,
  ownAddresses?: OwnAddresses,
) {
  const { usable, findings: hostNames } = keepHostNames(named, reported, zones);
  const declared = declareService(named, usable, grants);
  const { contributions, countsForOthers, findings, isExported, declarations, union } = declared;
  const winner = declarations[0]!;
  const exporters = isExported ? declarations.map(({ clusterId }) => clusterId) : [];
  const headless = winner.type === "Headless";
  const since = sinceOf(contributions, grants);
  const endpoints = headless ? gatherEndpoints(contributions) : [];
  const chosen = headless
    ? NO_ADDRESSES
    : chooseAddresses(named, contributions, viewers, {
        order: outsideOrder,
        countsForOthers,
        since,
        ownAddresses,
        endpoints: () => gatherEndpoints(contributions),
      });
  const reporters = new Set(declarations.map(({ clusterId }) => clusterId));
  const service: ClustersetService = {
    ...named,
    type: winner.type,
    ports: union.united.map(({ port }) => port),
    ...statedProperties(winner),
    labels: winner.labels,
    annotations: winner.annotations,
    exporters,
    since,
    reportedBy: contributions
      .map(({ clusterId }) => clusterId)
      .filter((clusterId) => reporters.has(clusterId)),
    outside: chosen.outside,
    byCluster: chosen.byCluster,
    shards: headless ? [] : listShards(exporters, contributions),
    endpoints,
  };
  const subject: ConflictSubject = {
    ...named,
    declaredBy: isExported ? "service export" : "service import",
    isPinned: contributions.some(
      ({ clusterId, adjusted }) => clusterId === winner.clusterId && adjusted === PINNED,
    ),
  };
  const duplicates = union.duplicates.map(({ clusterId, port }) => ({
    clusterId,
    reason: "DuplicatePort",
    kind: isExported ? "Service" : "ServiceImport",
    ...named,
    message: `port ${JSON.stringify(describePort(port))} repeats the name or the number of an earlier port; it is left out`,
  }));
  return {
    service,
    conflicts: findConflicts(subject, declarations, union),
    findings: [
      ...findings,
      ...findImplausible(named, contributions),
      ...findUntyped(named, contributions),
      ...duplicates,
      ...hostNames,
      ...chosen.findings,
    ],
  };
}

function sinceOf(contributions: readonly Contribution[], grants: Grants | undefined): Map<string, number> {
  return new Map(
    contributions.map((contribution) => {
      const { clusterId, exported, importedSince = Number.POSITIVE_INFINITY } = contribution;
      if (exported !== undefined) return [clusterId, exportedSince(contribution)];
      return [clusterId, grants?.has(clusterId) === true ? Number.NEGATIVE_INFINITY : importedSince];
    }),
  );
}

/** The properties that differ from the default: absent and default mean the same. */
function statedProperties(winner: Declaration) {
  const { sessionAffinity, sessionAffinityTimeoutSeconds, internalTrafficPolicy, trafficDistribution } =
    winner;
  return {
    ...(sessionAffinity === "None" ? {} : { sessionAffinity }),
    ...(sessionAffinityTimeoutSeconds === undefined ? {} : { sessionAffinityTimeoutSeconds }),
    ...(internalTrafficPolicy === "Cluster" ? {} : { internalTrafficPolicy }),
    ...(trafficDistribution === "" ? {} : { trafficDistribution }),
  };
}

const IMPLAUSIBLE: Readonly<Record<NonNullable<AdjustedTime["because"]>, string>> = {
  impossible: "which is before any ServiceExport could be",
  future: "which was in the future",
  unseen: "at which the gateway did not see the export appear",
};

/**
 * Of a service that one cluster exports alone, a time that is merely not borne out decides nothing: clusters
 * that join late have many.
 */
function findImplausible(named: ServiceName, contributions: readonly Contribution[]): ClusterFinding[] {
  const exporters = contributions.filter(({ exported }) => exported !== undefined);
  return exporters.flatMap((claimant) => {
    const { clusterId, exported, adjusted } = claimant;
    // No time is no claim.
    if (adjusted === undefined || exported!.exportedAt === UNDATED) return [];
    const claimed = Date.parse(exported!.exportedAt);
    const isOvertaking = (other: Contribution) =>
      other !== claimant && claimed < exportedSince(other) && exportedSince(other) <= adjusted.counts;
    const because = adjusted.because ?? (exporters.some(isOvertaking) ? "unseen" : undefined);
    if (because === undefined || (because === "unseen" && exporters.length === 1)) return [];
    const message = `claims to be created at ${exported!.exportedAt}, ${IMPLAUSIBLE[because]}; it counts from ${inSeconds(adjusted.counts)}`;
    return { clusterId, reason: "ImplausibleTimestamp", kind: "ServiceExport", ...named, message };
  });
}

function findUntyped(named: ServiceName, contributions: readonly Contribution[]): ClusterFinding[] {
  return contributions.flatMap(({ clusterId, imported }) => {
    if (imported === undefined || imported.type === "ClusterSetIP" || imported.type === "Headless") return [];
    const type = imported.type === undefined ? "no spec.type" : `spec.type ${JSON.stringify(imported.type)}`;
    const message = `has ${type}, which is neither ClusterSetIP nor Headless; it is taken for ClusterSetIP`;
    return { clusterId, reason: "UnknownImportType", kind: "ServiceImport", ...named, message };
  });
}

/**
 * Each exporter's part in a ClusterSetIP service, in the order of `exporters` (federated service discovery,
 * DNS Record Creation); a headless export has none. Addresses are as the cluster reports them; a load
 * balancer's host name counts where it has no address.
 */
function listShards(exporters: readonly string[], contributions: readonly Contribution[]): Shard[] {
  return exporters.flatMap((clusterId) => {
    const exported = contributions.find((one) => one.clusterId === clusterId)?.exported;
    if (exported === undefined || exported.headless) return [];
    const ingress = exported.loadBalancer ?? [];
    return {
      clusterId,
      clusterIPs: exported.clusterIPs ?? [],
      externalAddresses: [...ingress.flatMap(({ ip }) => (ip ? [ip] : [])), ...(exported.externalIPs ?? [])],
      externalNames: ingress.flatMap(({ ip, hostname }) => (!ip && hostname ? [hostname] : [])),
    };
  });
}
