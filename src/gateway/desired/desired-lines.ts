import { findingsKeyOf } from "../../database/places.ts";
import { deriveConditions, INVALID_REASONS } from "../../desired/conditions.ts";
import { deriveService, type Reach } from "../../desired/desired-service.ts";
import type { ClusterFinding } from "../../merge/clusterset.ts";
import { Accounts } from "../../names/accounts.ts";
import type { KeyWorld } from "../../names/key-world.ts";
import type { DesiredLine } from "../../snapshot/desired/desired-line.ts";

/** For whom lines are derived. */
export interface LineTerms {
  /** Clusters that may read their desired state: conditions are derived for those alone. */
  readonly clusters: ReadonlySet<string>;
  readonly reachOf: (clusterId: string) => Reach;
}

/** A line of a service, as text with its line feed. */
export interface ServiceLine {
  readonly text: string;
  /** The only cluster that gets it. */
  readonly only?: string | undefined;
  /** The only cluster that does not get it. */
  readonly except?: string | undefined;
}

/** The lines of a service by what they are of: `import`, `slice <cluster> <slice>`, `export <cluster>`. */
export type ServiceLines = ReadonlyMap<string, ServiceLine>;

/** Derives the lines of one service, for all clusters that may read them. @param key `<namespace>/<name>` */
export function deriveLines(world: KeyWorld, { clusters, reachOf }: LineTerms, key: string): ServiceLines {
  const account = new Accounts(world).of(key);
  const desired = deriveService(account, reachOf);
  const lines = new Map<string, ServiceLine>();
  if (desired !== undefined) {
    lines.set("import", { text: textOf({ import: key, desired: desired.import }) });
    for (const { cluster, name: slice, desired: content, recipients } of desired.slices)
      lines.set(`slice ${cluster} ${slice}`, {
        text: textOf({ service: key, cluster, slice, desired: content }),
        only: recipients === "itself" ? cluster : undefined,
        except: recipients === "others" ? cluster : undefined,
      });
  }
  const { parts, declared, conflicts } = account;
  for (const clusterId of clusters) {
    const invalid = invalidExport(world, clusterId, key);
    const reach = reachOf(clusterId);
    const conditions = deriveConditions({ clusterId, reach, parts, declared, conflicts, invalid });
    if (conditions === undefined) continue;
    lines.set(`export ${clusterId}`, {
      text: textOf({ export: key, conditions: [...conditions] }),
      only: clusterId,
    });
  }
  return lines;
}

/** The line that takes a line of a service back. @param name as `ServiceLines` has it */
export function withdrawalOf(key: string, name: string): string {
  const [kind, cluster = "", slice = ""] = name.split(" ");
  if (kind === "import") return textOf({ import: key, desired: null });
  if (kind === "export") return textOf({ export: key, conditions: null });
  return textOf({ service: key, cluster, slice, desired: null });
}

/** The services that a cluster says that it cannot export, as far as one row of its findings says. @param row a `findingsKey` */
export function invalidExportsAt({ entries }: KeyWorld, clusterId: string, row: string): string[] {
  return entries
    .findingsAt(clusterId, row, true)
    .flatMap((finding) => (isInvalidExport(finding) ? `${finding.namespace}/${finding.name}` : []));
}

function isInvalidExport({ kind, namespace, reason }: ClusterFinding): boolean {
  return kind === "ServiceExport" && namespace !== undefined && INVALID_REASONS.some((one) => one === reason);
}

function invalidExport({ entries }: KeyWorld, clusterId: string, key: string) {
  const findings = entries
    .findingsAt(clusterId, findingsKeyOf(key), true)
    .filter((finding) => isInvalidExport(finding) && `${finding.namespace}/${finding.name}` === key);
  for (const reason of INVALID_REASONS) {
    const finding = findings.find((one) => one.reason === reason);
    if (finding !== undefined) return { reason, message: finding.message };
  }
  return undefined;
}

/** A line with its line feed. */
export function textOf(line: DesiredLine): string {
  return `${JSON.stringify(line)}\n`;
}
