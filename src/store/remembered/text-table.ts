import type { SqlDatabase } from "../rows/sql-database.ts";
import { checkRecordName, type TextStore } from "./text-store.ts";

/** Characters of one row; a row may have 2 MB. */
const PART = 500_000;

/** Texts in a table of a Durable Object's SQLite storage, each in as many rows as it takes. @param table a name, trusted */
export function createTextTable(database: SqlDatabase, table: string): TextStore {
  database.sql.exec(
    `CREATE TABLE IF NOT EXISTS ${table} (
       name TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, part)
     ) WITHOUT ROWID`,
  );
  return {
    place: table,
    async names() {
      const rows = database.sql.exec(`SELECT DISTINCT name FROM ${table}`).toArray();
      return rows.map(({ name }) => String(name));
    },
    async read(name) {
      const query = `SELECT text FROM ${table} WHERE name = ? ORDER BY part`;
      const rows = database.sql.exec(query, name).toArray();
      return rows.length === 0 ? undefined : rows.map(({ text }) => String(text)).join("");
    },
    async keep(name, text) {
      checkRecordName(name);
      database.transactionSync(() => {
        database.sql.exec(`DELETE FROM ${table} WHERE name = ?`, name);
        for (let part = 0; part * PART < text.length; part++)
          database.sql.exec(
            `INSERT INTO ${table} (name, part, text) VALUES (?, ?, ?)`,
            name,
            part,
            text.slice(part * PART, (part + 1) * PART),
          );
      });
    },
  };
}
