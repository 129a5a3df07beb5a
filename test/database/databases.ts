import { DatabaseSync } from "node:sqlite";
import { type Database, overSqlite, overStorage } from "../../src/database/driver.ts";
import { migrate } from "../../src/database/schema.ts";
import { Writer } from "../../src/database/writer.ts";

/** A database without rows, as each host has it. @param path default: in memory */
export const DRIVERS: readonly [name: string, open: (path?: string) => Database & { close(): void }][] = [
  [
    "node:sqlite",
    (path = ":memory:") => {
      const connection = new DatabaseSync(path);
      const database = overSqlite(connection);
      migrate(database);
      return { ...database, close: () => connection.close() };
    },
  ],
  [
    "the storage of an object",
    (path = ":memory:") => {
      const connection = new DatabaseSync(path);
      const database = overStorage(storageDouble(connection));
      migrate(database);
      return { ...database, close: () => connection.close() };
    },
  ],
];

/** A writer over a database without rows, which finds none damaged. @param driver of `DRIVERS` */
export function openWriter(driver = 0) {
  const database = DRIVERS[driver]![1]();
  const onDamage = () => {
    throw new Error("a row is damaged");
  };
  return { database, writer: new Writer(database, onDamage) };
}

/** `ctx.storage` over node:sqlite. */
function storageDouble(connection: DatabaseSync): Parameters<typeof overStorage>[0] {
  return {
    sql: {
      exec(query, ...bindings) {
        if (bindings.length === 0 && query.includes(";")) {
          connection.exec(query);
          return { toArray: () => [] };
        }
        const rows = connection.prepare(query).all(...bindings);
        return { toArray: () => rows as Record<string, unknown>[] };
      },
    },
    transactionSync(change) {
      connection.exec("SAVEPOINT change");
      try {
        const result = change();
        connection.exec("RELEASE change");
        return result;
      } catch (error) {
        connection.exec("ROLLBACK TO change");
        connection.exec("RELEASE change");
        throw error;
      }
    },
  };
}
