import type { ClusterRow } from "./cluster-row.ts";
import type { Database } from "./driver.ts";
import { type ChangedRows, type RowChange, RowTables } from "./row-change.ts";
import { createRowTables } from "./schema.ts";

const PREFIX = "loading_";
const TABLES = ["entry", "claim", "cluster"] as const;

/**
 * Rows that are loaded beside those that are answered from, until `Writer.replace` puts them in their place. Rows may change where they are loaded from meanwhile: when all
 * changes since the load began were written, too, the rows are those after the last one.
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
