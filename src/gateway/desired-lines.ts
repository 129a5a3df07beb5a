import { sumOf } from "../database/driver.ts";
import { findingsKeyOf } from "../database/places.ts";
import { deriveConditions, INVALID_REASONS } from "../desired/conditions.ts";
import { deriveService, type Reach } from "../desired/desired-service.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { KeyWorld } from "../names/key-world.ts";
import { Accounts } from "../names/services.ts";
import type { DesiredLine } from "../snapshot/desired-line.ts";

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
function withdrawalOf(key: string, name: string): string {
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

/** What is kept of a line, or that there is none any more, since a version. */
interface KeptLine extends Pick<ServiceLine, "only" | "except"> {
  readonly version: number;
  readonly isThere: boolean;
  readonly sum: number;
}

/** Removed lines that are remembered: a stream that is further behind than the oldest one begins with a snapshot. */
const MOST_REMOVED = 10_000;
const NO_LINES: ReadonlyMap<string, KeptLine> = new Map();

/** Since when each line that was derived is as it is. Its text is derived when it is read. */
export class KeptLines {
  readonly #services = new Map<string, Map<string, KeptLine>>();
  /** Removed lines, the oldest first. */
  readonly #removed = new Map<
    string,
    { readonly key: string; readonly name: string; readonly version: number }
  >();
  readonly #mostRemoved: number;
  #forgotten = 0;

  constructor(mostRemoved: number = MOST_REMOVED) {
    this.#mostRemoved = mostRemoved;
  }

  /** The version up to which removed lines may be forgotten. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** `<namespace>/<name>` of every service with lines, also of removed ones. */
  keys(): Iterable<string> {
    return this.#services.keys();
  }

  /** Takes over the lines of a service as they are now. @param version the newest */
  take(key: string, lines: ServiceLines, version: number): void {
    const kept = this.#services.get(key) ?? new Map<string, KeptLine>();
    for (const [name, { text, only, except }] of lines) {
      const before = kept.get(name);
      const sum = sumOf(text);
      if (before?.isThere === true && before.sum === sum) continue;
      kept.set(name, { sum, only, except, version, isThere: true });
      this.#removed.delete(`${key} ${name}`);
    }
    for (const [name, line] of kept) {
      if (!line.isThere || lines.has(name)) continue;
      kept.set(name, { ...line, version, isThere: false });
      this.#removed.set(`${key} ${name}`, { key, name, version });
    }
    if (kept.size > 0) this.#services.set(key, kept);
    this.#forget();
  }

  /**
   * The lines of a service for a cluster that changed after a version.
   * @param lines as `take` got them last
   * @param isNew whether the cluster had none of them then; removed ones are sent all the same if they changed since
   */
  *changes(
    key: string,
    lines: ServiceLines,
    clusterId: string,
    after: number,
    isNew: boolean,
  ): Generator<string> {
    for (const [name, { version, isThere }] of this.#linesFor(key, clusterId)) {
      const text = isThere ? lines.get(name)?.text : withdrawalOf(key, name);
      if (text !== undefined && ((isThere && isNew) || version > after)) yield text;
    }
  }

  /** Takes all lines of a service back that a cluster may have. */
  *withdrawals(key: string, clusterId: string): Generator<string> {
    for (const [name] of this.#linesFor(key, clusterId)) yield withdrawalOf(key, name);
  }

  *#linesFor(key: string, clusterId: string): Generator<[name: string, line: KeptLine]> {
    for (const one of this.#services.get(key) ?? NO_LINES) {
      const { only, except } = one[1];
      if ((only ?? clusterId) === clusterId && except !== clusterId) yield one;
    }
  }

  #forget(): void {
    for (const [id, { key, name, version }] of this.#removed) {
      if (this.#removed.size <= this.#mostRemoved) break;
      this.#removed.delete(id);
      this.#forgotten = version;
      const lines = this.#services.get(key);
      lines?.delete(name);
      if (lines?.size === 0) this.#services.delete(key);
    }
  }
}
