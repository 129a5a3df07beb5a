import type { ExportedService, ImportedService, ServicePort } from "../snapshot/schema.ts";
import { compareText } from "./order.ts";

/** What one cluster contributes to one service: its ServiceExport, its ServiceImport, or both. */
export interface Contribution {
  readonly clusterId: string;
  readonly exported: ExportedService | undefined;
  readonly imported: ImportedService | undefined;
  /**
   * Instead of `imported`, the ServiceImport that the cluster's own worker made: its `ips` are for that
   * cluster's view. It is no part in the service.
   */
  readonly managed?: ImportedService | undefined;
  /** What counts instead, if the reported creation time of the export does not. */
  readonly adjusted?: AdjustedTime | undefined;
  /** When the import was first seen, in Unix milliseconds. */
  readonly importedSince?: number | undefined;
}

/** What counts instead of a creation time that is not believed. */
export interface AdjustedTime {
  /** Unix milliseconds. */
  readonly counts: number;
  /**
   * It is before any ServiceExport, in the future, or from before the gateway saw the export; undefined where
   * clocks differ a little.
   */
  readonly because: "impossible" | "future" | "unseen" | undefined;
}

/**
 * A time in Unix milliseconds as findings and explanations show it: RFC 3339 in whole seconds. The
 * milliseconds of an adjusted time depend on what else was pushed, which the client may not see.
 */
export function inSeconds(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

/**
 * What a ServiceExport or a ServiceImport declares of the service's global properties, defaults filled in.
 */
export interface Declaration {
  readonly clusterId: string;
  readonly type: "ClusterSetIP" | "Headless";
  readonly ports: readonly ServicePort[];
  readonly sessionAffinity: string;
  /** Seconds; undefined without client affinity, since nothing reads it then. */
  readonly sessionAffinityTimeoutSeconds: number | undefined;
  readonly internalTrafficPolicy: string;
  /** Empty for none. */
  readonly trafficDistribution: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Empty for unknown. */
  readonly ipFamilies: readonly string[];
}

/** The instant from which an export counts, in Unix milliseconds; Infinity if it reports none. */
export function exportedSince({ exported, adjusted }: Contribution): number {
  const at = adjusted?.counts ?? Date.parse(exported?.exportedAt ?? "");
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at;
}

/** What the Kubernetes API fills in where `sessionAffinity` is ClientIP without a timeout, in seconds. */
const DEFAULT_AFFINITY_TIMEOUT = 10800;

const NOTHING: Readonly<Record<string, string>> = Object.freeze({});

/**
 * The exporters' declarations in order of precedence: oldest ServiceExport first, by instant to the
 * millisecond; equal instants by cluster id (KEP-1645, Global Properties). An adjusted time replaces the
 * reported one.
 */
export function declareExports(contributions: readonly Contribution[]): Declaration[] {
  const exporters = contributions.filter(({ exported }) => exported !== undefined);
  return inOrder(exporters, exportedSince).map(({ clusterId, exported }) => ({
    ...declareGlobalProperties(clusterId, exported!),
    type: exported!.headless ? "Headless" : "ClusterSetIP",
    labels: exported!.exportedLabels ?? NOTHING,
    annotations: exported!.exportedAnnotations ?? NOTHING,
    ipFamilies: exported!.ipFamilies ?? [],
  }));
}

/**
 * The importers' declarations, first seen first, then by cluster id: a ServiceImport carries no creation time
 * of an export. As in CoreDNS, everything that is not `Headless` is a ClusterSetIP service, a missing type
 * too.
 */
export function declareImports(contributions: readonly Contribution[]): Declaration[] {
  const importers = contributions.filter(({ imported }) => imported !== undefined);
  const since = ({ importedSince = Number.MAX_VALUE }: Contribution) => importedSince;
  return inOrder(importers, since).map(({ clusterId, imported }) => ({
    ...declareGlobalProperties(clusterId, imported!),
    type: imported!.type === "Headless" ? "Headless" : "ClusterSetIP",
    labels: NOTHING,
    annotations: NOTHING,
    ipFamilies: [],
  }));
}

/** By time, then by cluster id. */
function inOrder(contributions: readonly Contribution[], timeOf: (one: Contribution) => number) {
  return contributions.toSorted((one, other) => {
    const [left, right] = [timeOf(one), timeOf(other)];
    return left === right ? compareText(one.clusterId, other.clusterId) : left - right;
  });
}

function declareGlobalProperties(clusterId: string, reported: ExportedService | ImportedService) {
  const sessionAffinity = reported.sessionAffinity || "None";
  return {
    clusterId,
    ports: reported.ports.map(fillProtocol),
    sessionAffinity,
    sessionAffinityTimeoutSeconds:
      sessionAffinity === "None"
        ? undefined
        : (reported.sessionAffinityTimeoutSeconds ?? DEFAULT_AFFINITY_TIMEOUT),
    internalTrafficPolicy: reported.internalTrafficPolicy || "Cluster",
    trafficDistribution: reported.trafficDistribution ?? "",
  };
}

function fillProtocol(port: ServicePort): ServicePort {
  const protocol = port.protocol.toUpperCase() || "TCP";
  return protocol === port.protocol ? port : { ...port, protocol };
}
