import { LRUCache } from "lru-cache";
import { sumOf } from "../database/driver.ts";
import { findingsKeyOf } from "../database/places.ts";
import { deriveConditions, INVALID_REASONS } from "../desired/conditions.ts";
import { deriveService, type Reach } from "../desired/desired-service.ts";
import type { ServiceAccount } from "../merge/account.ts";
import { lackingIn } from "../merge/audience.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import { namespaceOf } from "../merge/order.ts";
import type { KeyWorld } from "../names/key-world.ts";
import { Accounts } from "../names/services.ts";
import type { DesiredLine } from "../snapshot/desired-line.ts";

/** For whom lines are derived. */
export interface LineTerms {
  /** Clusters that may read their desired state: conditions are derived for those alone. */
  readonly clusters: ReadonlySet<string>;
  readonly reachOf: (clusterId: string) => Reach;
}

/** A line of a service, as text with its line feed, and the clusters that get it. */
interface ServiceLine {
  readonly text: string;
  readonly readers: ReadonlySet<string>;
}

/**
 * The lines of a service by what they are of: `import`, `slice <cluster> <slice>`, `export <cluster>`. Lines
 * for clusters that lack exports have their exporters behind it, as `@<cluster>,<cluster>`.
 */
export type ServiceLines = ReadonlyMap<string, ServiceLine>;

/** Derives the lines of one service, for all clusters that may read them. @param key `<namespace>/<name>` */
export function deriveLines(world: KeyWorld, { clusters, reachOf }: LineTerms, key: string): ServiceLines {
  const accounts = new Accounts(world);
  const restrictions = accounts.restrictionsOf(key);
  const audiences = new Map<string, { readonly account: ServiceAccount; readonly readers: Set<string> }>();
  const audienceOf = (clusterId: string) => {
    const id = [...lackingIn(restrictions, clusterId)].join();
    const audience = audiences.get(id) ?? { account: accounts.of(key, clusterId), readers: new Set() };
    audiences.set(id, audience);
    return audience;
  };
  for (const clusterId of clusters) audienceOf(clusterId).readers.add(clusterId);
  const lines = new Map<string, ServiceLine>();
  for (const [id, { account, readers }] of audiences) {
    const suffix = id === "" ? "" : `@${id}`;
    const desired = deriveService(account, reachOf);
    if (desired === undefined) continue;
    lines.set(`import${suffix}`, { text: textOf({ import: key, desired: desired.import }), readers });
    for (const { cluster, name: slice, desired: content, recipients } of desired.slices) {
      const own = recipients === "all" ? readers : readersOf(recipients, cluster, readers);
      const text = textOf({ service: key, cluster, slice, desired: content });
      if (own.size > 0) lines.set(`slice ${cluster} ${slice}${suffix}`, { text, readers: own });
    }
  }
  for (const clusterId of clusters) {
    const { parts, declared, conflicts } = audienceOf(clusterId).account;
    const invalid = invalidExport(world, clusterId, key);
    const reach = reachOf(clusterId);
    const conditions = deriveConditions({ clusterId, reach, parts, declared, conflicts, invalid });
    if (conditions === undefined) continue;
    const text = textOf({ export: key, conditions: [...conditions] });
    lines.set(exportLine(clusterId), { text, readers: new Set([clusterId]) });
  }
  return lines;
}

/** The readers of an exporter's slices that are for itself, or for all others. */
function readersOf(recipients: "itself" | "others", exporter: string, readers: ReadonlySet<string>) {
  return new Set([...readers].filter((reader) => (reader === exporter) === (recipients === "itself")));
}

/** The name of the line with the conditions of an exporter. */
export function exportLine(clusterId: string): string {
  return `export ${clusterId}`;
}

/** The object that a line is of: the name without its audience. */
function objectOf(name: string): string {
  return name.replace(/@.*$/, "");
}

/** The line that takes a line of a service back. @param object as `objectOf` gives it */
function withdrawalOf(key: string, object: string): string {
  const [kind, cluster = "", slice = ""] = object.split(" ");
  if (kind === "import") return textOf({ import: key, desired: null });
  if (kind === "export") return textOf({ export: key, conditions: null });
  return textOf({ service: key, cluster, slice, desired: null });
}

/**
 * The services that a cluster says that it cannot export, as far as one row of its findings says.
 * @param row a `findingsKey`
 */
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
interface KeptLine {
  readonly version: number;
  readonly isThere: boolean;
  readonly sum: number;
  readonly readers: ReadonlySet<string>;
  /** Clusters that had the line and lost it, and the version since which. */
  readonly left: ReadonlyMap<string, number>;
}

/**
 * Removed lines that are remembered: a stream that is further behind than the oldest one begins with a
 * snapshot.
 */
const MOST_REMOVED = 10_000;
/** Sets of readers that are remembered, so that lines share them. */
const MOST_SETS = 1000;
const NO_LINES: ReadonlyMap<string, KeptLine> = new Map();

/** Since when each line that was derived is as it is. Its text is derived when it is read. */
export class KeptLines {
  readonly #services = new Map<string, Map<string, KeptLine>>();
  /** The keys of `#services`, by namespace. */
  readonly #namespaces = new Map<string, Set<string>>();
  /** Removed lines, the oldest first. */
  readonly #removed = new Map<
    string,
    { readonly key: string; readonly name: string; readonly version: number }
  >();
  readonly #sets = new LRUCache<string, ReadonlySet<string>>({ max: MOST_SETS });
  readonly #mostRemoved: number;
  #forgotten = 0;

  constructor(mostRemoved: number = MOST_REMOVED) {
    this.#mostRemoved = mostRemoved;
  }

  /** The version up to which removed lines may be forgotten. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** `<namespace>/<name>` of every service of a namespace with lines, also of removed ones. */
  keysIn(namespace: string): Iterable<string> {
    return this.#namespaces.get(namespace) ?? [];
  }

  /** Whether a service has a line of a name, or had it. */
  has(key: string, name: string): boolean {
    return this.#services.get(key)?.has(name) === true;
  }

  /** Takes over the lines of a service as they are now. @param version the newest */
  take(key: string, lines: ServiceLines, version: number): void {
    const kept = this.#services.get(key) ?? new Map<string, KeptLine>();
    for (const [name, { text, readers }] of lines) {
      const before = kept.get(name);
      const sum = sumOf(text);
      if (before?.isThere === true && before.sum === sum && isSameSet(before.readers, readers)) continue;
      const left = new Map(before?.left);
      for (const reader of before?.readers ?? []) if (!readers.has(reader)) left.set(reader, version);
      for (const reader of readers) left.delete(reader);
      kept.set(name, { sum, readers: this.#sharedSet(readers), left, version, isThere: true });
      this.#removed.delete(`${key} ${name}`);
    }
    for (const [name, line] of kept) {
      if (!line.isThere || lines.has(name)) continue;
      kept.set(name, { ...line, version, isThere: false });
      this.#removed.set(`${key} ${name}`, { key, name, version });
    }
    if (kept.size > 0) {
      const namespace = namespaceOf(key);
      this.#services.set(key, kept);
      this.#namespaces.set(namespace, (this.#namespaces.get(namespace) ?? new Set()).add(key));
    }
    this.#forget();
  }

  /**
   * The lines of a service for a cluster that changed after a version.
   * @param lines as `take` got them last
   * @param isNew whether the cluster had none of them then; removed ones are sent all the same if they
   * changed since
   */
  *changes(
    key: string,
    lines: ServiceLines,
    clusterId: string,
    after: number,
    isNew: boolean,
  ): Generator<string> {
    for (const [object, { name, version }] of this.#objectsFor(key, clusterId)) {
      if (name === undefined && version > after) yield withdrawalOf(key, object);
      if (name !== undefined && (isNew || version > after)) yield lines.get(name)!.text;
    }
  }

  /** Takes all lines of a service back that a cluster may have. */
  *withdrawals(key: string, clusterId: string): Generator<string> {
    for (const [object] of this.#objectsFor(key, clusterId)) yield withdrawalOf(key, object);
  }

  /**
   * The objects of a service that a cluster has or had: the name of the line that it has, and the version of
   * the last change.
   */
  #objectsFor(key: string, clusterId: string) {
    const objects = new Map<string, { readonly name: string | undefined; readonly version: number }>();
    for (const [name, { isThere, version, readers, left }] of this.#services.get(key) ?? NO_LINES) {
      const since = readers.has(clusterId) ? version : left.get(clusterId);
      if (since === undefined) continue;
      const object = objectOf(name);
      const before = objects.get(object);
      // A line that the cluster has replaces the lines of other audiences that it had.
      const own = isThere && readers.has(clusterId) ? name : before?.name;
      objects.set(object, { name: own, version: Math.max(since, before?.version ?? 0) });
    }
    return objects;
  }

  /** One set for equal readers: nearly all lines have the same. */
  #sharedSet(readers: ReadonlySet<string>): ReadonlySet<string> {
    const id = [...readers].join(" ");
    const known = this.#sets.get(id) ?? readers;
    this.#sets.set(id, known);
    return known;
  }

  #drop(key: string): void {
    const namespace = namespaceOf(key);
    const keys = this.#namespaces.get(namespace);
    this.#services.delete(key);
    keys?.delete(key);
    if (keys?.size === 0) this.#namespaces.delete(namespace);
  }

  #forget(): void {
    for (const [id, { key, name, version }] of this.#removed) {
      if (this.#removed.size <= this.#mostRemoved) break;
      this.#removed.delete(id);
      this.#forgotten = version;
      const lines = this.#services.get(key);
      lines?.delete(name);
      if (lines?.size === 0) this.#drop(key);
    }
  }
}

function isSameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one === other || (one.size === other.size && [...one].every((element) => other.has(element)));
}
