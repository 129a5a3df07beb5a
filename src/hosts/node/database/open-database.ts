import { DatabaseSync } from "node:sqlite";
import { type Database, overSqlite } from "../../../database/driver.ts";
import { migrate } from "../../../database/schema.ts";

/** Bytes of the write-ahead log after a checkpoint, at most. */
const LOG_BYTES = 16 * 1024 * 1024;

/** A database in a file, or in memory. */
export interface OpenDatabase extends Database {
  /** Whether a database of another version was emptied. */
  readonly wasEmptied: boolean;
  close(): void;
}

/**
 * Opens the database that changes are applied to, and creates it if there is none.
 * @param path of the file; `:memory:` for tests
 * @throws {Error} of SQLite, e.g. for a file that is no database
 */
export function openDatabase(path: string): OpenDatabase {
  const connection = new DatabaseSync(path);
  connection.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = ${LOG_BYTES}`,
  );
  const database = overSqlite(connection);
  return { ...database, wasEmptied: migrate(database), close: () => connection.close() };
}

/** Opens a connection that only reads, beside the one that writes. */
export function openForReading(path: string): Database & { close(): void } {
  const connection = new DatabaseSync(path, { readOnly: true });
  return { ...overSqlite(connection), close: () => connection.close() };
}
