import { DatabaseSync } from "node:sqlite";
import type { SqlDatabase, SqlValue } from "../../../src/store/rows/sql-database.ts";

/** SQLite as a Durable Object has it, over node:sqlite. */
export function sqliteDouble(path = ":memory:"): SqlDatabase & { close(): void } {
  const database = new DatabaseSync(path);
  return {
    sql: {
      exec(query, ...bindings) {
        const values = bindings.map((value) =>
          value instanceof ArrayBuffer ? new Uint8Array(value) : value,
        );
        const rows = database.prepare(query).all(...values);
        return { toArray: () => rows.map(asInWorkers) };
      },
    },
    transactionSync(change) {
      database.exec("BEGIN");
      try {
        const result = change();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    close: () => database.close(),
  };
}

function asInWorkers(row: Record<string, unknown>): Record<string, SqlValue> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      value instanceof Uint8Array ? new Uint8Array(value).buffer : (value as SqlValue),
    ]),
  );
}
