import { ClaimWriter, claimChanges, LOST_ORDER } from "./claims.ts";
import { type ClusterMeta, type ClusterRow, NO_TOTALS } from "./cluster-row.ts";
import type { Database, Statement } from "./driver.ts";
import { Kind } from "./places.ts";
import { type Change, type Decision, type EntryChange, prepare } from "./prepare.ts";
import { FoundingDay, foundingAt, type Sight } from "./ranks.ts";
import { type Damage, type EntryRow, Reader, rowSum, type StoredRow } from "./reader.ts";
import type { Staged } from "./stage.ts";
import { changedSum, sumOf } from "./sums.ts";

/** What happens to a cluster beside pushes. */
export interface Event {
  /**
   * - `expiry`: its lease ended. Its entries and ranks stay.
   * - `departure`: it left on purpose, known or not. Its entries go, ranks stay.
   * - `damage`: one of its rows is damaged. Its entries go, and the ranks of sound rows stay.
   */
  readonly kind: "expiry" | "departure" | "damage";
  readonly cluster: string;
}

/** What a change did. */
export interface Applied {
  /** Of the log after it. */
  readonly position: number;
  /** Keys of entries that changed; undefined for all of the cluster. */
  readonly keys: readonly string[] | undefined;
  /** Whether something changed that concerns more than these keys: the cluster came or went, or has other namespaces, another topology or another zone. */
  readonly isWide: boolean;
  /** The cluster afterwards. */
  readonly cluster: ClusterRow;
}

/** Something else was applied since a change was prepared: it has to be prepared again. */
export class StaleChange extends Error {}

/** A row of a cluster is damaged: apply `damage`. */
export class DamagedCluster extends Error {
  readonly damage: Damage;

  constructor(damage: Damage) {
    super(
      `a row of cluster "${damage.cluster}" is damaged${damage.key === undefined ? "" : ` (${damage.key})`}`,
    );
    this.damage = damage;
  }
}

/** Keys of one change that are listed in the log. */
const MOST_KEYS = 1000;
/** Changes that the log keeps, at least. */
const LOG_ROWS = 10_000;
/** After how many changes older ones are removed from the log. */
const TRIM_AFTER = 256;

/** Changes a database: each change in one transaction. */
export class Writer {
  /** Reads what is changed. @throws {DamagedCluster} from its functions */
  readonly reader: Reader;
  readonly #database: Database;
  readonly #sql: Readonly<Record<"put" | "cut" | "clear" | "cluster" | "log" | "trim" | "meta", Statement>>;
  readonly #claims: ClaimWriter;
  #latest: number;

  /** @param onDamage called for each cluster whose own row is damaged; `damage` has been applied to it */
  constructor(database: Database, onDamage: (damage: Damage) => void) {
    this.#database = database;
    this.reader = new Reader(database, (damage) => {
      throw new DamagedCluster(damage);
    });
    this.#sql = {
      put: database.prepare(
        `INSERT INTO entry (key, kind, cluster, name, part, reported, counts, sum, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (cluster, kind, name, part) DO UPDATE
         SET key = excluded.key, reported = excluded.reported, counts = excluded.counts, sum = excluded.sum, text = excluded.text`,
      ),
      cut: database.prepare("DELETE FROM entry WHERE cluster = ? AND kind = ? AND name = ? AND part >= ?"),
      clear: database.prepare("DELETE FROM entry WHERE cluster = ?"),
      cluster: database.prepare(
        "INSERT INTO cluster (id, text, sum) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET text = excluded.text, sum = excluded.sum",
      ),
      log: database.prepare(
        "INSERT INTO log (position, cluster, generation, kind, keys) VALUES (?, ?, ?, ?, ?)",
      ),
      trim: database.prepare("DELETE FROM log WHERE position <= ?"),
      meta: database.prepare(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      ),
    };
    this.#claims = new ClaimWriter(database, (cluster, key) => {
      throw new DamagedCluster({ cluster, key });
    });
    const damaged: Damage[] = [];
    const clusters = new Reader(database, (damage) => damaged.push(damage)).clusters();
    this.#latest = clusters.reduce(
      (most, { latest, seenAt, meta }) => Math.max(most, latest, seenAt, meta?.renewedAt ?? most),
      0,
    );
    for (const damage of damaged) {
      this.apply({ kind: "damage", cluster: damage.cluster });
      onDamage(damage);
    }
  }

  /** See `prepare`. */
  prepare(staged: Staged, meta: ClusterMeta, by: Sight | Decision): Change {
    return prepare(this.reader, staged, meta, by, this.#latest);
  }

  /** Lets the gateway's first day begin, or end. @returns the day */
  start(now: number): FoundingDay {
    const kept = this.reader.meta("founding");
    const { data } = FoundingDay.safeParse(kept && JSON.parse(kept));
    const founding = foundingAt(data, this.reader.clusters().length > 0, now, this.#latest);
    this.#sql.meta.run("founding", JSON.stringify(founding));
    return founding;
  }

  /**
   * Applies a change: whole, or, when it throws, not at all. The only way in.
   * @throws {StaleChange} @throws {Error} of the host, where the disk fails
   */
  apply(change: Change | Event): Applied {
    const applied = this.#database.atomically(() =>
      "entries" in change ? this.#push(change) : this.#happen(change),
    );
    this.#latest = Math.max(this.#latest, applied.cluster.latest);
    return applied;
  }

  #push({ kind, cluster, meta, position, entries, totals, decision }: Change): Applied {
    if (this.reader.position() !== position) throw new StaleChange("another change was applied");
    const before = this.reader.cluster(cluster);
    let sum = before?.sum ?? 0;
    for (const entry of entries) sum = this.#write(entry, sum);
    const order = before?.hasLostRanks === true && kind === "whole" ? LOST_ORDER : position + 1;
    this.#claims.change(cluster, claimChanges(entries), order);
    const isUnranked = decision.seenAt === undefined && (entries.length > 0 || before?.isUnranked === true);
    const row: ClusterRow = {
      id: cluster,
      state: "live",
      meta,
      totals,
      sum,
      seenAt: decision.seenAt ?? before?.seenAt ?? 0,
      latest: decision.latest,
      isUnranked: isUnranked || undefined,
      hasLostRanks: (kind === "changes" && before?.hasLostRanks) || undefined,
    };
    this.#setCluster(row);
    const founding = JSON.stringify(decision.founding);
    if (founding !== this.reader.meta("founding")) this.#sql.meta.run("founding", founding);
    const isBack = before?.state !== "live";
    if (entries.length === 0 && !isBack) return { position, keys: [], isWide: false, cluster: row };
    const keys = new Set<string>();
    for (const { before: old, after } of entries)
      for (const one of [old, after]) if (one !== undefined) keys.add(one.key);
    const isWide = isBack || entries.some(({ before: old, after }) => (old ?? after)!.kind <= Kind.namespace);
    return this.#log(row, kind, keys.size <= MOST_KEYS ? [...keys] : undefined, isWide);
  }

  #happen({ kind, cluster }: Event): Applied {
    const known = new Reader(this.#database, () => {}).cluster(cluster);
    const before = known ?? { id: cluster, totals: NO_TOTALS, sum: 0, seenAt: 0, latest: 0 };
    if (kind === "expiry") {
      const row: ClusterRow = { ...before, state: "expired" };
      this.#setCluster(row);
      return this.#log(row, kind, [], true);
    }
    const isDamage = kind === "damage";
    const row: ClusterRow = {
      ...before,
      state: isDamage ? "damaged" : "left",
      totals: NO_TOTALS,
      sum: this.#bury(cluster),
      hasLostRanks: isDamage || undefined,
    };
    this.#setCluster(row);
    return this.#log(row, kind, undefined, true);
  }

  /** Removes a cluster's entries, and keeps the ranks of those that are sound. @returns the sum of the rows that are left */
  #bury(cluster: string): number {
    const reader = new Reader(this.#database, () => {});
    const ranks: EntryRow[] = [];
    for (const kind of [Kind.export, Kind.import])
      for (const row of reader.all(cluster, kind))
        if (row.counts !== null) ranks.push({ ...row, texts: [""] });
    this.#sql.clear.run(cluster);
    this.#claims.clear(cluster);
    return ranks.reduce((sum, after) => this.#write({ before: undefined, after }, sum), 0);
  }

  /** Writes the parts of an entry that change. @returns the sum of the cluster's rows */
  #write({ before, after }: EntryChange, sum: number): number {
    const { kind, cluster, name } = (before ?? after)!;
    const [old, now] = [before?.texts.length ?? 0, after?.texts.length ?? 0];
    let all = sum;
    for (let part = 0; part < Math.max(old, now); part++) {
      const was = part < old ? partOf(before!, part) : undefined;
      const is = part < now ? partOf(after!, part) : undefined;
      if (was !== undefined && is !== undefined && isSame(was, is)) continue;
      const own = is === undefined ? 0 : rowSum(is);
      all = changedSum(all, was === undefined ? 0 : rowSum(was), own);
      if (is === undefined) continue;
      const { key, reported, counts, text } = is;
      this.#sql.put.run(key, kind, cluster, name, part, reported, counts, own, text);
    }
    if (now < old) this.#sql.cut.run(cluster, kind, name, now);
    return all;
  }

  #setCluster(row: ClusterRow): void {
    const text = JSON.stringify(row);
    this.#sql.cluster.run(row.id, text, sumOf(row.id, text));
  }

  #log(cluster: ClusterRow, kind: string, keys: readonly string[] | undefined, isWide: boolean): Applied {
    const position = this.reader.position() + 1;
    const listed = keys === undefined ? null : JSON.stringify(keys);
    this.#sql.log.run(position, cluster.id, cluster.meta?.generation ?? 0, kind, listed);
    if (position % TRIM_AFTER === 0) this.#sql.trim.run(position - LOG_ROWS);
    return { position, keys, isWide, cluster };
  }
}

function partOf(row: EntryRow, part: number): Omit<StoredRow, "sum"> {
  const { key, kind, cluster, name, texts } = row;
  const [reported, counts] = part === 0 ? [row.reported, row.counts] : [null, null];
  return { key, kind, cluster, name, part, text: texts[part]!, reported, counts };
}

function isSame(one: Omit<StoredRow, "sum">, other: Omit<StoredRow, "sum">): boolean {
  return (
    one.text === other.text &&
    one.key === other.key &&
    one.reported === other.reported &&
    one.counts === other.counts
  );
}
