import { deriveConditions, INVALID_REASONS } from "../../desired/conditions.ts";
import { deriveService, type Reach } from "../../desired/desired-service.ts";
import type { MergedServices } from "../../merge/index/merged-services.ts";
import type { ServiceIndex } from "../../merge/index/service-index.ts";
import type { DesiredLine } from "../../snapshot/desired/desired-line.ts";

/** What lines are derived from. */
export interface LineSource {
  readonly index: ServiceIndex;
  readonly services: MergedServices;
  /** Clusters that may read their desired state: conditions are derived for those alone. */
  readonly clusters: ReadonlySet<string>;
  readonly reachOf: (clusterId: string) => Reach;
}

/** A line of a service, as text with its line feed. */
export interface ServiceLine {
  readonly text: string;
  /** The line that takes it back. */
  readonly none: string;
  /** The only cluster that gets it. */
  readonly only?: string | undefined;
  /** The only cluster that does not get it. */
  readonly except?: string | undefined;
}

/** The lines of a service by what they are of, and its exporters. */
export interface ServiceLines {
  readonly lines: ReadonlyMap<string, ServiceLine>;
  readonly exporters: readonly string[];
}

/** Derives the lines of one service, for all clusters that may read them. */
export function deriveLines({ index, services, clusters, reachOf }: LineSource, key: string): ServiceLines {
  const account = services.accountOf(key);
  const desired = deriveService(account, reachOf);
  const lines = new Map<string, ServiceLine>();
  if (desired !== undefined) {
    lines.set("import", {
      text: textOf({ import: key, desired: desired.import }),
      none: textOf({ import: key, desired: null }),
    });
    for (const { cluster, name: slice, desired: content, recipients } of desired.slices) {
      const of = { service: key, cluster, slice };
      lines.set(`slice ${cluster} ${slice}`, {
        ...{ text: textOf({ ...of, desired: content }), none: textOf({ ...of, desired: null }) },
        ...{ only: recipients === "itself" ? cluster : undefined },
        ...{ except: recipients === "others" ? cluster : undefined },
      });
    }
  }
  const conflicts = services.conflictsOf(key);
  for (const clusterId of clusters) {
    const invalid = invalidExport({ index, services }, clusterId, key);
    const { parts, declared } = account;
    const conditions = deriveConditions({
      ...{ clusterId, reach: reachOf(clusterId) },
      ...{ parts, declared, conflicts, invalid },
    });
    if (conditions === undefined) continue;
    const text = textOf({ export: key, conditions: [...conditions] });
    const none = textOf({ export: key, conditions: null });
    lines.set(`export ${clusterId}`, { text, none, only: clusterId });
  }
  return { lines, exporters: desired?.import.clusters ?? [] };
}

/** The service that a finding of a worker says that it cannot export; undefined for any other finding. */
export function keyOfInvalidExport(findingKey: string): string | undefined {
  const [kind, namespace, name, reason, ...more] = findingKey.split("/");
  const isInvalid = INVALID_REASONS.some((one) => one === reason);
  return kind === "ServiceExport" && isInvalid && more.length === 0 ? `${namespace}/${name}` : undefined;
}

function invalidExport(
  { index, services }: Pick<LineSource, "index" | "services">,
  clusterId: string,
  key: string,
) {
  const cluster = index.clusters.get(clusterId);
  if (cluster === undefined || services.filter?.hasCluster(clusterId) === false) return undefined;
  for (const reason of INVALID_REASONS) {
    const finding = cluster.state.entry("findings", `ServiceExport/${key}/${reason}`);
    if (finding !== undefined) return { reason, message: finding.message };
  }
  return undefined;
}

/** A line with its line feed. */
export function textOf(line: DesiredLine): string {
  return `${JSON.stringify(line)}\n`;
}
