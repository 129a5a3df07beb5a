import type { PrecedenceStore } from "./precedence-store.ts";
import type { SqlDatabase } from "./sql-database.ts";

/** Characters of one row; a row may have 2 MB. */
const PART = 500_000;

/** A store in the SQLite storage of a Durable Object, a text in as many rows as it takes. */
export function createPrecedenceTable(database: SqlDatabase): PrecedenceStore {
  database.sql.exec(
    `CREATE TABLE IF NOT EXISTS export_precedence (
       name TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, part)
     ) WITHOUT ROWID`,
  );
  return {
    async load() {
      const texts = new Map<string, string>();
      const rows = database.sql
        .exec("SELECT name, text FROM export_precedence ORDER BY name, part")
        .toArray();
      for (const { name, text } of rows)
        texts.set(String(name), (texts.get(String(name)) ?? "") + String(text));
      return texts;
    },
    async keep(name, text) {
      database.transactionSync(() => {
        database.sql.exec("DELETE FROM export_precedence WHERE name = ?", name);
        for (let part = 0; part * PART < text.length; part++)
          database.sql.exec(
            "INSERT INTO export_precedence (name, part, text) VALUES (?, ?, ?)",
            name,
            part,
            text.slice(part * PART, (part + 1) * PART),
          );
      });
    },
  };
}
