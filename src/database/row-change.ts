import type { Database, Statement } from "./driver.ts";
import { sumOf } from "./driver.ts";
import type { StoredRow } from "./reader.ts";
import type { ClusterRow } from "./schema.ts";
import { createRowTables } from "./schema.ts";

/** A row of `entry`, of a cluster that is known. */
export type PartRow = Omit<StoredRow, "cluster">;

/** A row of `claim`, of a cluster that is known. */
export interface ClaimRow {
  readonly bucket: string;
  /** Empty for a row that goes. */
  readonly text: string;
}

/** Rows of a cluster as they become. */
export interface ChangedRows {
  readonly entries: Iterable<PartRow>;
  /** Rows of `entry` that go. */
  readonly gone: Iterable<Pick<PartRow, "kind" | "name" | "part">>;
  readonly claims: Iterable<ClaimRow>;
}

/**
 * What a change makes of the rows of one cluster. Equal rows become equal rows; written twice it changes
 * nothing more.
 */
export interface RowChange extends ChangedRows {
  /** What changed, for the log. */
  readonly kind: string;
  /** The cluster afterwards. */
  readonly cluster: ClusterRow;
  /** All rows that the cluster has go first. */
  readonly isCleared: boolean;
  /**
   * Keys of entries and of buckets of claims that changed; where rows are cleared, those of the services in
   * which the cluster had a part.
   */
  readonly keys: readonly string[];
  /**
   * Whether something changed that concerns more than these keys: the cluster came or went, or has other
   * namespaces, another topology or another zone.
   */
  readonly isWide: boolean;
  /** How many exports and imports came, went or got another rank. Default: none. */
  readonly ranked?: number | undefined;
  /** The gateway's first day afterwards, as JSON; undefined where it stays as it is. */
  readonly founding?: string | undefined;
}

/** A change of a cluster's own row, and of none of its entries. */
export function rowAlone(kind: string, cluster: ClusterRow): RowChange {
  return { kind, cluster, isCleared: false, entries: [], gone: [], claims: [], keys: [], isWide: false };
}

/** The tables of clusters and their rows. */
export class RowTables {
  readonly #sql: Readonly<
    Record<"put" | "cut" | "clear" | "claim" | "cutClaim" | "clearClaims" | "cluster", Statement>
  >;

  /** @param prefix of the names of the tables */
  constructor(database: Database, prefix = "") {
    this.#sql = {
      put: database.prepare(
        `INSERT INTO ${prefix}entry (key, kind, cluster, name, part, reported, counts, sum, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (cluster, kind, name, part) DO UPDATE
         SET key = excluded.key, reported = excluded.reported, counts = excluded.counts, sum = excluded.sum, text = excluded.text`,
      ),
      cut: database.prepare(
        `DELETE FROM ${prefix}entry WHERE cluster = ? AND kind = ? AND name = ? AND part = ?`,
      ),
      clear: database.prepare(`DELETE FROM ${prefix}entry WHERE cluster = ?`),
      claim: database.prepare(
        `INSERT INTO ${prefix}claim (bucket, cluster, text, sum) VALUES (?, ?, ?, ?)
         ON CONFLICT (bucket, cluster) DO UPDATE SET text = excluded.text, sum = excluded.sum`,
      ),
      cutClaim: database.prepare(`DELETE FROM ${prefix}claim WHERE bucket = ? AND cluster = ?`),
      clearClaims: database.prepare(`DELETE FROM ${prefix}claim WHERE cluster = ?`),
      cluster: database.prepare(
        `INSERT INTO ${prefix}cluster (id, text, sum, change) SELECT ?, ?, ?, coalesce(max(change), 0) + 1 FROM ${prefix}cluster WHERE true
         ON CONFLICT (id) DO UPDATE SET text = excluded.text, sum = excluded.sum, change = excluded.change`,
      ),
    };
  }

  /** Writes rows of a cluster. */
  put(cluster: string, { entries, gone, claims }: ChangedRows): void {
    const { put, cut, claim, cutClaim } = this.#sql;
    for (const { key, kind, name, part, reported, counts, sum, text } of entries)
      put.run(key, kind, cluster, name, part, reported, counts, sum, text);
    for (const { kind, name, part } of gone) cut.run(cluster, kind, name, part);
    for (const { bucket, text } of claims)
      if (text === "") cutClaim.run(bucket, cluster);
      else claim.run(bucket, cluster, text, sumOf(bucket, cluster, text));
  }

  setCluster(row: ClusterRow): void {
    const text = JSON.stringify(row);
    this.#sql.cluster.run(row.id, text, sumOf(row.id, text));
  }

  /** Writes all that a change makes of rows. */
  write(change: RowChange): void {
    const { cluster, isCleared } = change;
    if (isCleared) {
      this.#sql.clear.run(cluster.id);
      this.#sql.clearClaims.run(cluster.id);
    }
    this.put(cluster.id, change);
    this.setCluster(cluster);
  }
}

const PREFIX = "loading_";
const TABLES = ["entry", "claim", "cluster"] as const;

/**
 * Rows that are loaded beside those that are answered from, until `Writer.replace` puts them in their place.
 * Rows may change where they are loaded from meanwhile: when all changes since the load began were written,
 * too, the rows are those after the last one.
 */
export class RowLoad {
  readonly #database: Database;
  readonly #rows: RowTables;

  constructor(database: Database) {
    this.#database = database;
    database.atomically(() => {
      this.drop();
      database.exec(createRowTables(PREFIX));
    });
    this.#rows = new RowTables(database, PREFIX);
  }

  setCluster(row: ClusterRow): void {
    this.#rows.setCluster(row);
  }

  put(cluster: string, rows: ChangedRows): void {
    this.#database.atomically(() => this.#rows.put(cluster, rows));
  }

  write(change: RowChange): void {
    this.#database.atomically(() => this.#rows.write(change));
  }

  /** Replaces the rows that are answered from. Within a transaction. */
  moveInto(database: Database): void {
    const change = Number(database.prepare("SELECT max(change) AS change FROM cluster").get()?.change ?? 0);
    for (const table of TABLES) database.exec(`DELETE FROM ${table}`);
    for (const table of ["entry", "claim"])
      database.exec(`INSERT INTO ${table} SELECT * FROM ${PREFIX}${table}`);
    database.exec(
      `INSERT INTO cluster (id, text, sum, change) SELECT id, text, sum, ${change + 1} FROM ${PREFIX}cluster`,
    );
  }

  /** Drops what was loaded. */
  drop(): void {
    for (const table of TABLES) this.#database.exec(`DROP TABLE IF EXISTS ${PREFIX}${table}`);
  }
}
