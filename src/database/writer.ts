import { finish } from "../dns/steps.ts";
import type { Database, Statement } from "./driver.ts";
import { Kind } from "./places.ts";
import { type Change, type EntryChange, prepare } from "./prepare.ts";
import { type FoundingDay, foundingAt, type Sight } from "./ranks.ts";
import { type Damage, Reader } from "./reader.ts";
import type { RowLoad } from "./row-change.ts";
import { type RowChange, RowTables } from "./row-change.ts";
import { DamagedCluster, type Event, type GivenUp, RowPlanner } from "./row-planner.ts";
import type { ClusterMeta, ClusterRow } from "./schema.ts";
import type { Staged } from "./stage.ts";

export { DamagedCluster, type Event, StaleChange } from "./row-planner.ts";

/** What a change did. */
export interface Applied {
  /** Of the log after it. */
  readonly position: number;
  /**
   * Keys of entries and of buckets of claims that changed; of a cluster that left, those of its exports and
   * imports, which the log does not name.
   */
  readonly keys: readonly string[];
  /**
   * Whether something changed that concerns more than these keys: the cluster came or went, or has other
   * namespaces, another topology or another zone.
   */
  readonly isWide: boolean;
  /** The cluster afterwards. */
  readonly cluster: ClusterRow;
}

/** An entry of a log that several gateways share. */
export interface LogMark {
  /** Grows by 1 with each entry; 0 before the first. */
  readonly position: number;
  /** No other entry has the same, in no other log; empty before the first. */
  readonly id: string;
}

/**
 * Keys of a row of the log. A change of more has several rows; in a log that several gateways share each
 * change has one, without keys.
 */
const MOST_KEYS = 1000;
/** Changes that the log keeps, at least. */
const LOG_ROWS = 10_000;
/** Entries of `happened` that are kept of each cluster, and services that one names. */
const MOST_HAPPENED = 30;
const SOME_SERVICES = 3;
/** After how many changes older ones are removed from the log. */
const TRIM_AFTER = 256;

/** Changes a database: each change in one transaction. */
export class Writer {
  /** Reads what is changed. @throws {DamagedCluster} from its functions */
  readonly reader: Reader;
  /** @throws {DamagedCluster} from its functions */
  readonly planner: RowPlanner;
  readonly #database: Database;
  readonly #rows: RowTables;
  readonly #sql: Readonly<Record<"log" | "trim" | "meta" | "note" | "forget", Statement>>;
  readonly #now: () => number;
  #latest = 0;

  /**
   * @param onDamage called for each cluster whose own row is damaged; `damage` has been applied to it
   * @param now the gateway's clock, for the log
   */
  constructor(database: Database, onDamage: (damage: Damage) => void, now: () => number = Date.now) {
    this.#database = database;
    this.#now = now;
    this.#rows = new RowTables(database);
    this.reader = new Reader(database, (damage) => {
      throw new DamagedCluster(damage);
    });
    this.planner = new RowPlanner(database, this.reader);
    this.#sql = {
      log: database.prepare(
        "INSERT INTO log (position, cluster, generation, kind, keys) VALUES (?, ?, ?, ?, ?)",
      ),
      trim: database.prepare("DELETE FROM log WHERE position <= ?"),
      note: database.prepare(
        `INSERT INTO happened (cluster, kind, minute, count, ranked, at, keys) VALUES (?, ?, ?, 1, ?, ?, ?)
         ON CONFLICT (cluster, kind, minute) DO UPDATE
         SET count = count + 1, ranked = ranked + excluded.ranked, at = excluded.at, keys = excluded.keys`,
      ),
      forget: database.prepare(
        "DELETE FROM happened WHERE cluster = ? AND at < (SELECT at FROM happened WHERE cluster = ? ORDER BY at DESC LIMIT 1 OFFSET ?)",
      ),
      meta: database.prepare(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      ),
    };
    for (const damage of this.#readLatest()) {
      this.apply({ kind: "damage", cluster: damage.cluster });
      onDamage(damage);
    }
  }

  /** See `prepare`. */
  prepare(staged: Staged, meta: ClusterMeta, sight: Sight, mostEndpoints: number): Generator<void, Change> {
    return prepare(this.reader, staged, meta, sight, this.#latest, mostEndpoints);
  }

  /** Lets the gateway's first day begin, or end. @returns the day */
  start(now: number): FoundingDay {
    const hasMemory = this.reader.clusters().length > 0;
    const founding = foundingAt(this.reader.founding(), hasMemory, now, this.#latest);
    this.#found(JSON.stringify(founding));
    return founding;
  }

  /**
   * Applies a change: whole, or, when it throws, not at all.
   * @throws {StaleChange} @throws {Error} of the host, where the disk fails
   */
  apply(change: Change | Event): Applied {
    return this.#write(() => this.plan(change));
  }

  /**
   * Applies a change in steps: a large one in several transactions, each with whole entries. Other clusters
   * may change meanwhile. When it throws, some of it may be there: then the cluster's next push must be
   * whole.
   * @throws {StaleChange} @throws {Error} of the host, where the disk fails
   */
  *applyInSteps(change: Change): Generator<Applied> {
    const parts = partsOf(change.entries);
    const given: GivenUp = new Map();
    let { base } = change;
    let ranked = 0;
    const counted = (rows: RowChange): RowChange => {
      ranked += rows.ranked ?? 0;
      return { ...rows, ranked };
    };
    for (const entries of parts.slice(0, -1)) {
      const applied = this.#write(() => counted(finish(this.planner.part(change, base, entries, given))));
      base = applied.cluster.sum;
      yield applied;
    }
    const last = { ...change, base, entries: parts.at(-1)! };
    yield this.#write(() => counted(finish(this.planner.push(last, given))));
  }

  /** What a change makes of rows. @throws {StaleChange} */
  plan(change: Change | Event): RowChange {
    return finish(this.planInSteps(change));
  }

  /** `plan` in steps. What the change builds on is read in the first one. */
  *planInSteps(change: Change | Event): Generator<void, RowChange> {
    return "entries" in change ? yield* this.planner.push(change) : this.planner.event(change);
  }

  /**
   * Applies what a change makes of rows, planned by this gateway or another one.
   * @param mark where a shared log has it
   */
  write(change: RowChange, mark: LogMark): Applied {
    return this.#write(() => change, mark);
  }

  /**
   * Has the database have what was loaded, and nothing else.
   * @param log which shared log that is of
   * @param mark up to where
   * @param founding its first day, as JSON
   */
  replace(load: RowLoad, log: string, mark: LogMark, founding: string | undefined): void {
    this.#database.atomically(() => {
      load.moveInto(this.#database);
      this.#database.exec("DELETE FROM log");
      this.#sql.log.run(mark.position, "", 0, "load", null);
      this.#note("", "load", 0, []);
      if (founding !== undefined) this.#sql.meta.run("founding", founding);
      this.#sql.meta.run("log", log);
      this.#mark(mark);
      this.#sql.meta.run("loads", String(Number(this.reader.meta("loads") ?? 0) + 1));
    });
    this.#readLatest();
  }

  /**
   * The newest entry of a shared log that was applied; its position is another one than the reader's after a
   * change that no entry made.
   */
  get mark(): LogMark {
    return JSON.parse(this.reader.meta("entry") ?? '{"position":0,"id":""}');
  }

  /** Sets a single value. */
  setMeta(name: string, value: string): void {
    this.#sql.meta.run(name, value);
  }

  /** @returns damaged rows of clusters */
  #readLatest(): Damage[] {
    const damaged: Damage[] = [];
    const clusters = new Reader(this.#database, (damage) => damaged.push(damage)).clusters();
    this.#latest = clusters.reduce(
      (most, { latest, seenAt, meta }) => Math.max(most, latest, seenAt, meta?.renewedAt ?? most),
      0,
    );
    return damaged;
  }

  #write(plan: () => RowChange, mark?: LogMark): Applied {
    const applied = this.#database.atomically(() => {
      const change = plan();
      this.#rows.write(change);
      this.#found(change.founding);
      if (mark !== undefined) this.#mark(mark);
      const { keys, isWide, cluster } = change;
      return { position: this.#log(change, mark), keys, isWide, cluster };
    });
    this.#latest = Math.max(this.#latest, applied.cluster.latest);
    return applied;
  }

  #mark({ position, id }: LogMark): void {
    this.setMeta("entry", JSON.stringify({ position, id }));
  }

  /** A first day that has ended stays so, whatever another gateway decided before it knew. */
  #found(founding: string | undefined): void {
    if (founding === undefined || founding === this.reader.meta("founding")) return;
    if (this.reader.founding()?.over !== true) this.#sql.meta.run("founding", founding);
  }

  /** One cluster's many changes leave others' entries as they are. */
  #note(cluster: string, kind: string, ranked: number, keys: readonly string[]): void {
    const at = this.#now();
    this.#sql.note.run(cluster, kind, Math.floor(at / 60_000), ranked, at, JSON.stringify(keys));
    this.#sql.forget.run(cluster, cluster, MOST_HAPPENED - 1);
  }

  /** Renewals alone are not in a log of this gateway's own. @returns the position */
  #log(change: RowChange, mark?: LogMark): number {
    const { kind, cluster, keys, isWide, isCleared } = change;
    const newest = this.reader.position();
    // A push in parts happens once, with the last of them.
    if ((keys.length > 0 || isWide) && cluster.isPartial !== true)
      this.#note(cluster.id, kind, change.ranked ?? 0, someServices(change));
    if (mark === undefined && keys.length === 0 && !isWide) return newest;
    const isUnnamed = isCleared || (mark !== undefined && keys.length > MOST_KEYS);
    const rows = isUnnamed ? 1 : Math.max(1, Math.ceil(keys.length / MOST_KEYS));
    const first = mark?.position ?? newest + 1;
    for (let row = 0; row < rows; row++) {
      const position = first + row;
      const listed = isUnnamed ? null : JSON.stringify(keys.slice(row * MOST_KEYS, (row + 1) * MOST_KEYS));
      this.#sql.log.run(position, cluster.id, cluster.meta?.generation ?? 0, kind, listed);
      if (position % TRIM_AFTER === 0) this.#sql.trim.run(position - LOG_ROWS);
    }
    return first + rows - 1;
  }
}

/** Some services of the clusterset that a change concerns. */
function someServices({ isCleared, keys, entries }: RowChange): string[] {
  if (isCleared) return [...new Set(keys)].slice(0, SOME_SERVICES);
  const services = new Set<string>();
  for (const { kind, key } of entries) {
    if (kind === Kind.export || kind === Kind.import) services.add(key);
    if (services.size === SOME_SERVICES) break;
  }
  return [...services];
}

/** Entries or rows of one transaction, and characters of them after which it has no more. */
export const MOST_ROWS = 256;
export const MOST_CHARACTERS = 1024 * 1024;
/** Addresses that the entries of one transaction claim or give up, about: 2,000 take some 40 ms. */
const MOST_CLAIMS = 2000;

/** Entries as they are written together: one part at least. */
function partsOf(entries: readonly EntryChange[]): readonly (readonly EntryChange[])[] {
  const parts: EntryChange[][] = [[]];
  let characters = 0;
  let claims = 0;
  for (const entry of entries) {
    let part = parts.at(-1)!;
    if (part.length >= MOST_ROWS || characters >= MOST_CHARACTERS || claims >= MOST_CLAIMS) {
      part = [];
      parts.push(part);
      characters = 0;
      claims = 0;
    }
    part.push(entry);
    for (const text of entry.after?.texts ?? []) characters += text.length;
    claims += claimsOf(entry);
  }
  return parts;
}

/**
 * How many addresses of endpoints a change claims or gives up, at most: with another rank all have another
 * basis.
 */
function claimsOf({ before, after }: EntryChange): number {
  const isRankedAlike = (before?.counts ?? null) === (after?.counts ?? null);
  const [old, now] = [before?.texts ?? [], after?.texts ?? []];
  const addresses = (text: string, part: number, other: readonly string[]) =>
    isRankedAlike && text === other[part] ? 0 : text.split('"address":').length - 1;
  return (
    old.reduce((sum, text, part) => sum + addresses(text, part, now), 0) +
    now.reduce((sum, text, part) => sum + addresses(text, part, old), 0)
  );
}
