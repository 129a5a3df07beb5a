import { equalJson, isJsonObject, ownMember } from "../snapshot/json-value.ts";
import type { ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import type { Database, Row, Statement } from "./driver.ts";
import { sumOf } from "./driver.ts";
import { BASES, type Basis, Kind, localKey, namespaceKey } from "./places.ts";
import { FoundingDay } from "./ranks.ts";
import type { ClusterRow, Totals } from "./schema.ts";

/** An entry of a cluster. */
export interface EntryRow {
  readonly key: string;
  readonly kind: Kind;
  readonly cluster: string;
  /** Its key in the snapshot; see `Kind`. */
  readonly name: string;
  /** JSON, in parts; see `entryValue`. Empty for an entry that is gone and has a rank. */
  readonly texts: readonly string[];
  /**
   * The creation time that an export reports, 0 of an import. Null for an entry without a place in any order.
   * Unix milliseconds.
   */
  readonly reported: number | null;
  /**
   * From when on it counts in the order of exporters or importers. Null while it is not served. Unix
   * milliseconds.
   */
  readonly counts: number | null;
}

/** An entry without its text. */
type EntryPlace = Pick<EntryRow, "key" | "kind" | "cluster" | "name">;

/**
 * By the prefix of a basis and an address in hex: for each namespace the order (see `Claim`), then the
 * services. A namespace that is hidden in a scope has no part in the order of others.
 */
export type Claims = Record<string, (number | string)[]>;

/** A service for which a cluster reports an address. */
export interface Claim {
  readonly cluster: string;
  /** `<namespace>/<name>`. */
  readonly name: string;
  readonly basis: Basis;
  /**
   * The position of the log from which on the cluster has reported the address on this basis, for whatever
   * services of the namespace. Negative where rows were lost then: it may have done so at any time before.
   */
  readonly order: number;
}

/** A row whose text or place is not what was written. */
export interface Damage {
  readonly cluster: string;
  /** Of what: the key of the entry; undefined for the cluster's own row. */
  readonly key?: string;
}

/** What of one kind happened to a cluster in one minute. */
export interface HistoryEntry {
  /** Empty for all clusters. */
  readonly clusterId: string;
  /** As in `LogRow`, or `load`: everything was loaded from a shared log. */
  readonly kind: string;
  /** Of the last time: some services of the clusterset, `<namespace>/<name>`. */
  readonly keys: readonly string[];
  /** How often. */
  readonly count: number;
  /** How many exports and imports came, went or got another rank. */
  readonly ranked: number;
  /** The last time, of the gateway's clock. */
  readonly at: number;
}

/** A change that was applied. */
export interface LogRow {
  readonly position: number;
  readonly cluster: string;
  readonly generation: number;
  /** Of a `Change` or an `Event`; `return` for a change by which a cluster is live that was not. */
  readonly kind: string;
  /** Keys of entries and of buckets of claims that changed; undefined for all of the cluster. */
  readonly keys: readonly string[] | undefined;
}

/**
 * The value of an entry. Its parts have no null, so that to merge them by RFC 7396 is to join their objects.
 */
export function entryValue({ texts }: Pick<EntryRow, "texts">): unknown {
  const value: unknown = JSON.parse(texts[0]!);
  for (let part = 1; part < texts.length; part++) join(value as Table, JSON.parse(texts[part]!));
  return value;
}

type Table = Record<string, unknown>;

function join(table: Table, more: Table): void {
  for (const name of Object.keys(more)) {
    const [one, other] = [ownMember(table, name), more[name]];
    if (isJsonObject(one) && isJsonObject(other)) join(one as Table, other as Table);
    else table[name] = other;
  }
}

/** A row of `entry`. */
export interface StoredRow extends Omit<EntryRow, "texts"> {
  readonly part: number;
  readonly text: string;
  readonly sum: number;
}

/** The sum that a row of `entry` has. */
export function rowSum(row: Omit<StoredRow, "sum">): number {
  const { key, kind, cluster, name, part, text, reported, counts } = row;
  return sumOf(`${kind} ${part} ${reported} ${counts} ${cluster}`, key, name, text);
}

/** Entries that are read at once. */
const PAGE = 256;
const BASIS_NAMES = Object.keys(BASES) as Basis[];
const COLUMNS = "key, kind, cluster, name, part, text, reported, counts, sum";

/**
 * Reads the database, each function with one statement. An entry with a damaged row is left out, and
 * reported: the writer marks its cluster as damaged. Entries of all clusters are read, whatever their state:
 * the caller knows from `clusters` which count.
 */
export class Reader {
  readonly #database: Database;
  readonly #onDamage: (damage: Damage) => void;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database, onDamage: (damage: Damage) => void) {
    this.#database = database;
    this.#onDamage = onDamage;
  }

  /** All that clusters have under a key, by kind, then cluster, then name. */
  rowsOf(key: string): EntryRow[] {
    return this.#entries(
      this.#statement(`SELECT ${COLUMNS} FROM entry WHERE key = ? ORDER BY kind, cluster, name, part`).all(
        key,
      ),
    );
  }

  /** An entry of a cluster, gone ones with a rank too; undefined if there is none. */
  entry(cluster: string, kind: Kind, name: string): EntryRow | undefined {
    const sql = `SELECT ${COLUMNS} FROM entry WHERE cluster = ? AND kind = ? AND name = ? ORDER BY part`;
    return this.#entries(this.#statement(sql).all(cluster, kind, name), true)[0];
  }

  /**
   * Entries of a cluster of one kind in the order of names, gone ones with a rank too. They are read page by
   * page: nothing is held open between two of them.
   * @param namespace of exports, imports or services. Default: all
   */
  *all(cluster: string, kind: Kind, namespace?: string): Generator<EntryRow> {
    // The last name of a page first: an entry has several rows, and all of a page may be damaged.
    const last = `SELECT max(name) AS name FROM (
      SELECT name FROM entry WHERE cluster = ? AND kind = ? AND name > ? AND name < ? AND part = 0 ORDER BY name LIMIT ${PAGE})`;
    const sql = `SELECT ${COLUMNS} FROM entry WHERE cluster = ? AND kind = ? AND name > ? AND name <= ? ORDER BY name, part`;
    const [from, end] = namesIn(namespace);
    for (let after = from; ; ) {
      const to = this.#statement(last).get(cluster, kind, after, end)?.name;
      if (typeof to !== "string") return;
      yield* this.#entries(this.#statement(sql).all(cluster, kind, after, to), true);
      after = to;
    }
  }

  /**
   * Keys of exports and imports of some clusters, each once, in order, page by page. Only an index is read.
   * @param clusters live ones: others may have gone entries @param namespace default: all
   */
  *serviceKeys(clusters: Iterable<string>, namespace?: string): Generator<string[]> {
    const sql = `SELECT DISTINCT key FROM entry INDEXED BY entry_by_key WHERE key > ? AND key < ? AND kind IN (${Kind.export}, ${Kind.import})
      AND cluster IN (SELECT value FROM json_each(?)) ORDER BY key LIMIT ${PAGE}`;
    const [from, to] = namesIn(namespace);
    const ids = JSON.stringify([...clusters]);
    for (let after = from; ; ) {
      const keys = this.#statement(sql)
        .all(after, to, ids)
        .map(({ key }) => String(key));
      if (keys.length === 0) return;
      yield keys;
      after = keys.at(-1)!;
    }
  }

  /**
   * Keys of a cluster's entries of one kind, gone ones with a rank too, in the order of names, page by page.
   * @param namespace default: all
   */
  *keysOf(cluster: string, kind: Kind, namespace?: string): Generator<string[]> {
    const sql = `SELECT key, name FROM entry WHERE cluster = ? AND kind = ? AND name > ? AND name < ? AND part = 0 ORDER BY name LIMIT ${PAGE}`;
    let [after, to] = namesIn(namespace);
    for (;;) {
      const rows = this.#statement(sql).all(cluster, kind, after, to);
      if (rows.length === 0) return;
      yield rows.map(({ key }) => String(key));
      after = String(rows.at(-1)!.name);
    }
  }

  /** Characters of all entries under a key, at least. */
  charactersOf(key: string): number {
    const sql = "SELECT sum(octet_length(text)) AS characters FROM entry WHERE key = ?";
    return Number(this.#statement(sql).get(key)?.characters ?? 0);
  }

  /** Keys from one on to before another one, each with a cluster that has an entry there, in order. */
  keysFrom(from: string, to: string, limit: number): Pick<EntryPlace, "key" | "cluster">[] {
    const sql = `SELECT DISTINCT key, cluster FROM entry WHERE key >= ? AND key < ? AND part = 0 AND text <> '' ORDER BY key, cluster LIMIT ?`;
    return this.#statement(sql).all(from, to, limit) as unknown as EntryPlace[];
  }

  /** The last key from one on to before another one; undefined if there is none. */
  lastKey(from: string, to: string): string | undefined {
    const row = this.#statement("SELECT max(key) AS key FROM entry WHERE key >= ? AND key < ?").get(from, to);
    return typeof row?.key === "string" ? row.key : undefined;
  }

  /** Namespaces with any entry, from one on to before another one, in order. */
  namespacesFrom(from: string, to: string, limit: number): string[] {
    const next = this.#statement("SELECT min(key) AS key FROM entry WHERE key >= ?");
    const found: string[] = [];
    for (let at = from; found.length < limit; ) {
      const key = next.get(at)?.key;
      if (typeof key !== "string" || key >= to) break;
      found.push(key.slice(0, key.indexOf("/")));
      // In ASCII "0" follows "/".
      at = `${found.at(-1)}0`;
    }
    return found;
  }

  /** Whether a cluster has exports, imports or services in a namespace, or reports it. */
  hasAny(cluster: string, namespace: string): boolean {
    if (this.entry(cluster, Kind.namespace, namespace) !== undefined) return true;
    const sql =
      "SELECT 1 AS found FROM entry WHERE cluster = ? AND kind = ? AND name > ? AND name < ? AND text <> '' LIMIT 1";
    return [Kind.export, Kind.import, Kind.service].some(
      (kind) => this.#statement(sql).get(cluster, kind, `${namespace}/`, `${namespace}0`) !== undefined,
    );
  }

  /** The addresses of a bucket that clusters report, as the JSON of `Claims`. */
  claimsIn(bucket: string): { readonly cluster: string; readonly text: string }[] {
    const rows = this.#statement("SELECT cluster, text, sum FROM claim WHERE bucket = ?").all(bucket);
    return rows.flatMap((row) => {
      const [cluster, text] = [String(row.cluster), String(row.text)];
      if (row.sum === sumOf(bucket, cluster, text)) return { cluster, text };
      this.#onDamage({ cluster, key: bucket });
      return [];
    });
  }

  /** Buckets of claims whose names begin with a text, in order. */
  claimBuckets(prefix: string, limit: number): string[] {
    const next = this.#statement("SELECT min(bucket) AS bucket FROM claim WHERE bucket > ? AND bucket < ?");
    const found: string[] = [];
    while (found.length < limit) {
      const bucket = next.get(found.at(-1) ?? prefix, endOfHex(prefix))?.bucket;
      if (typeof bucket !== "string") break;
      found.push(bucket);
    }
    return found;
  }

  /** The last bucket of claims whose name begins with a text; undefined if there is none. */
  lastClaimBucket(prefix: string): string | undefined {
    const sql = "SELECT max(bucket) AS bucket FROM claim WHERE bucket > ? AND bucket < ?";
    const bucket = this.#statement(sql).get(prefix, endOfHex(prefix))?.bucket;
    return typeof bucket === "string" ? bucket : undefined;
  }

  /** The clusters that report a namespace. */
  clustersWith(namespace: string): string[] {
    const sql = "SELECT cluster FROM entry WHERE key = ? AND kind = ? ORDER BY cluster";
    return this.#statement(sql)
      .all(namespaceKey(namespace), Kind.namespace)
      .map(({ cluster }) => String(cluster));
  }

  /** Every cluster that is known, in the order of ids; one whose row is damaged is reported and left out. */
  clusters(): ClusterRow[] {
    return this.clustersSince(0).rows;
  }

  /** The clusters whose rows changed since a call that returned `change`; 0 for all of them. */
  clustersSince(since: number): { readonly rows: ClusterRow[]; readonly change: number } {
    const sql = "SELECT id, text, sum, change FROM cluster WHERE change > ? ORDER BY id";
    const rows = this.#statement(sql).all(since);
    return {
      rows: rows.flatMap((row) => this.#cluster(row) ?? []),
      change: rows.reduce((most, { change }) => Math.max(most, Number(change)), since),
    };
  }

  cluster(id: string): ClusterRow | undefined {
    const row = this.#statement("SELECT id, text, sum FROM cluster WHERE id = ?").get(id);
    return row && this.#cluster(row);
  }

  /**
   * Whether no row of a cluster is missing, for rows that come from elsewhere: SQLite loses none. Texts are
   * not read.
   */
  isWhole({ id, sum, claims = 0 }: ClusterRow): boolean {
    const halves = "SELECT sum(sum & 0xffffff) AS low, sum(sum >> 24) AS high FROM entry WHERE cluster = ?";
    const { low, high } = this.#statement(halves).get(id) as { low: number | null; high: number | null };
    const rows = this.#statement("SELECT count(*) AS rows FROM claim WHERE cluster = ?").get(id)?.rows;
    return rows === claims && ((low ?? 0) + ((high ?? 0) % 2 ** 24) * 2 ** 24) % 2 ** 48 === sum;
  }

  /** Of the newest change in the log; 0 before the first. */
  position(): number {
    return Number(this.#statement("SELECT max(position) AS position FROM log").get()?.position ?? 0);
  }

  /**
   * Changes after a position, in order; undefined where the log does not have them all any more, or has not
   * come so far.
   */
  changesSince(position: number, limit = PAGE): LogRow[] | undefined {
    const sql =
      "SELECT position, cluster, generation, kind, keys FROM log WHERE position > ? ORDER BY position LIMIT ?";
    const rows = this.#statement(sql).all(position, limit);
    const isNext = rows.length > 0 ? rows[0]!.position === position + 1 : this.position() === position;
    return isNext ? rows.map(logRow) : undefined;
  }

  /** What happened to clusters, the newest first. @param hasCluster default: all exist */
  history(most: number, hasCluster: (clusterId: string) => boolean = () => true): HistoryEntry[] {
    const all = this.#statement("SELECT DISTINCT cluster FROM happened").all();
    const clusters = all.map(({ cluster }) => String(cluster)).filter(hasCluster);
    const sql = `SELECT cluster AS clusterId, kind, keys, count, ranked, at FROM happened
      WHERE cluster IN (SELECT value FROM json_each(?)) ORDER BY at DESC LIMIT ?`;
    const rows = this.#statement(sql).all(JSON.stringify(clusters), most);
    return rows.map((row) => ({ ...row, keys: JSON.parse(String(row.keys)) }) as unknown as HistoryEntry);
  }

  /** The gateway's first day; undefined if it is not known. */
  founding(): FoundingDay | undefined {
    const kept = this.meta("founding");
    return FoundingDay.safeParse(kept && JSON.parse(kept)).data;
  }

  /** A single value; undefined if there is none. */
  meta(name: string): string | undefined {
    const row = this.#statement("SELECT value FROM meta WHERE name = ?").get(name);
    return row && String(row.value);
  }

  /** Joins the parts of entries, which follow each other. */
  #entries(rows: readonly Row[], withGone = false): EntryRow[] {
    const entries: StoredRow[][] = [];
    for (const row of rows as unknown as readonly StoredRow[]) {
      const open = entries.at(-1);
      if (open !== undefined && isOneEntry(open[0]!, row)) open.push(row);
      else entries.push([row]);
    }
    return entries.flatMap((parts) => {
      const { key, kind, cluster, name, reported, counts } = parts[0]!;
      if (parts.every((row, part) => row.part === part && row.sum === rowSum(row))) {
        const texts = parts.map(({ text }) => text);
        return withGone || texts[0] !== "" ? { key, kind, cluster, name, texts, reported, counts } : [];
      }
      this.#onDamage({ cluster, key });
      return [];
    });
  }

  #cluster({ id, text, sum }: Row): ClusterRow | undefined {
    const cluster = String(id);
    if (sumOf(cluster, String(text)) === sum) return JSON.parse(String(text));
    this.#onDamage({ cluster });
    return undefined;
  }

  #statement(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Clusters that export a service in a namespace that they have, whatever their state. */
export function exportersOf(rows: Pick<Reader, "rowsOf" | "entry">, key: string): string[] {
  const namespace = key.slice(0, key.indexOf("/"));
  return rows
    .rowsOf(key)
    .flatMap(({ kind, cluster }) =>
      kind === Kind.export && rows.entry(cluster, Kind.namespace, namespace) !== undefined ? cluster : [],
    );
}

/** The claims of a cluster on one address. @param hex the address */
export function readClaims(cluster: string, claims: Claims, hex: string): Claim[] {
  return BASIS_NAMES.flatMap((basis) => {
    let order = 0;
    return (claims[BASES[basis] + hex] ?? []).flatMap((one) => {
      if (typeof one === "string") return { cluster, name: one, basis, order };
      order = one;
      return [];
    });
  });
}

/** The addresses on which there are claims, in hex. */
export function claimedAddressesIn(claims: Claims): ReadonlySet<string> {
  return new Set(Object.keys(claims).map((place) => place.replace(/^[^0-9a-f]/, "")));
}

/** Between which two all names are that begin with a namespace. @param namespace undefined: all names */
function namesIn(namespace: string | undefined): readonly [after: string, before: string] {
  // In ASCII "0" follows "/".
  return namespace === undefined ? ["", "\u{10ffff}"] : [namespaceKey(namespace), `${namespace}0`];
}

/** After all hexadecimal digits. */
function endOfHex(prefix: string): string {
  return `${prefix}g`;
}

function isOneEntry(one: StoredRow, other: StoredRow): boolean {
  return one.name === other.name && one.cluster === other.cluster && one.kind === other.kind;
}

function logRow(row: Row): LogRow {
  return { ...row, keys: row.keys === null ? undefined : JSON.parse(String(row.keys)) } as unknown as LogRow;
}

/** What has to be known of an entry to place, rank and count it. */
export interface Facts {
  /** In which queries are answered with it. */
  readonly key: string;
  /** See `EntryRow`. */
  readonly reported: number | null;
  /** Entries that the row has. */
  readonly entries: number;
  readonly endpoints: number;
  readonly ports: number;
  readonly metadataCharacters: number;
}

type Groups = LocalService["endpoints"];

/** Characters of an endpoint as JSON, at least. */
const SHORTEST_ENDPOINT = '"a":{"address":""},'.length;

/** Where `Totals` has how many there are of a kind. */
export const COUNTER = {
  [Kind.single]: undefined,
  [Kind.namespace]: "namespaces",
  [Kind.export]: "exports",
  [Kind.import]: "imports",
  [Kind.service]: "services",
  [Kind.pods]: "pods",
  [Kind.findings]: "findings",
} as const;

/** The facts of an entry. @param value valid */
export function factsOf(kind: Kind, name: string, value: unknown): Facts {
  const nothing = { reported: null, entries: 1, endpoints: 0, ports: 0, metadataCharacters: 0 };
  switch (kind) {
    case Kind.export: {
      const { exportedAt, ports, nodes, endpoints, ...metadata } = value as ExportedService;
      return {
        key: name,
        reported: Date.parse(exportedAt),
        entries: 1,
        ...countEndpoints(ports.length + (nodes?.ports.length ?? 0), [endpoints]),
        metadataCharacters:
          charactersOf(metadata.exportedLabels) + charactersOf(metadata.exportedAnnotations),
      };
    }
    case Kind.import: {
      const { managed, ports, endpoints } = value as ImportedService;
      const counted = countEndpoints(ports.length, Object.values(endpoints));
      // One that the cluster's own worker made has no place in any order. How many there are is up to other
      // clusters: `characters` alone bounds them.
      const ranked = managed === true ? { reported: null, entries: 0 } : { reported: 0 };
      return { ...nothing, ...counted, key: name, ...ranked };
    }
    case Kind.service: {
      const service = value as LocalService;
      const counted = countEndpoints(service.ports.length, [service.endpoints]);
      return { ...nothing, ...counted, key: localKey(name, service) };
    }
    case Kind.namespace:
      return { ...nothing, key: namespaceKey(name) };
    case Kind.single:
      return { ...nothing, key: "" };
    default:
      return { ...nothing, key: name, entries: Object.keys(value as object).length };
  }
}

/** Endpoints of an entry in several parts; 0 if it is too short to have more than `most`. */
export function endpointsAbove(most: number, kind: Kind, name: string, texts: readonly string[]): number {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  return characters / SHORTEST_ENDPOINT > most ? factsOf(kind, name, entryValue({ texts })).endpoints : 0;
}

function countEndpoints(ports: number, sources: readonly Groups[]): Pick<Facts, "endpoints" | "ports"> {
  let endpoints = 0;
  for (const groups of sources)
    for (const group of Object.values(groups)) {
      const members = Object.keys(group.members).length;
      endpoints += members;
      ports += members * group.ports.length;
    }
  return { endpoints, ports };
}

function charactersOf(texts: Readonly<Record<string, string>> = {}): number {
  return Object.entries(texts).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

/**
 * The parts of an entry before and after a change that tell the difference of its facts: the first one, and
 * those that differ. All, where that is not so.
 * @returns the values of both
 */
export function comparedValues(
  kind: Kind,
  before: readonly string[],
  after: readonly string[],
): readonly [before: unknown, after: unknown] {
  const differs = (_: string, part: number) => part === 0 || before[part] !== after[part];
  const [old, now] = [before, after].map((texts) => entryValue({ texts: texts.filter(differs) })) as [
    unknown,
    unknown,
  ];
  if (before.every(differs) || isBucket(kind) || hasSamePorts(kind, old, now)) return [old, now];
  return [entryValue({ texts: before }), entryValue({ texts: after })];
}

/**
 * Whether each group of endpoints has its ports in both values, as many as in the other one: ports count once
 * for each endpoint.
 */
function hasSamePorts(kind: Kind, one: unknown, other: unknown): boolean {
  const [known, groups] = [one, other].map((value) => portCounts(kind, value));
  return equalJson({ ...groups, ...known }, { ...known, ...groups });
}

/** By path of a group, how many ports it has; NaN, which equals nothing, where the value does not say. */
function portCounts(kind: Kind, value: unknown): Readonly<Record<string, number>> {
  const { endpoints } = value as ExportedService | ImportedService;
  const sources = Object.entries(kind === Kind.import ? endpoints : { "": endpoints }) as [string, Groups][];
  const counts = sources.flatMap(([source, groups]) =>
    Object.entries(groups).map(([name, { ports }]) => [
      JSON.stringify([source, name]),
      ports?.length ?? Number.NaN,
    ]),
  );
  return Object.fromEntries(counts);
}

/** Adds an entry to totals, which are changed, or takes it away. */
export function countEntry(
  totals: { -readonly [Name in keyof Totals]: number },
  { kind, name, texts }: { readonly kind: Kind; readonly name: string; readonly texts: readonly string[] },
  { entries, endpoints, ports, metadataCharacters }: Facts,
  sign: 1 | -1,
): void {
  const counter = COUNTER[kind];
  if (counter === undefined) return;
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  // The texts of a bucket have the keys of its entries.
  const own = isBucket(kind) ? -texts.length : JSON.stringify(name).length + 2;
  totals.characters += sign * (characters + own);
  totals[counter] += sign * entries;
  totals.endpoints += sign * endpoints;
  totals.ports += sign * ports;
  totals.metadataCharacters += sign * metadataCharacters;
}

/** Whether rows of a kind have several entries each. */
export function isBucket(kind: Kind): boolean {
  return kind === Kind.pods || kind === Kind.findings;
}

/** The entries of such a row as JSON, by name; none for one that is gone. */
export function bucketMembers(row: EntryRow | undefined): Map<string, string> {
  if (row === undefined || row.texts[0] === "") return new Map();
  const members = Object.entries(entryValue(row) as object);
  return new Map(members.map(([name, value]) => [name, JSON.stringify(value)]));
}
