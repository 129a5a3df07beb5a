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
    async load() {
      const texts = new Map<string, string>();
      const rows = database.sql.exec(`SELECT name, text FROM ${table} ORDER BY name, part`).toArray();
      for (const { name, text } of rows)
        texts.set(String(name), (texts.get(String(name)) ?? "") + String(text));
      return texts;
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
