import type { DatabaseSync } from "node:sqlite";
import { type Database, overSqlite } from "../../../database/driver.ts";
import { migrate } from "../../../database/schema.ts";

/** Bytes of the write-ahead log after a checkpoint, at most. */
const LOG_BYTES = 16 * 1024 * 1024;
/** Milliseconds that a reader waits while the log is recovered or restarted, which is all that can lock it out. */
const PATIENCE = 2000;

/** A database in a file, or in memory. */
export interface OpenDatabase extends Database {
  /** Whether a database of another version was emptied. */
  readonly wasEmptied: boolean;
  close(): void;
}

const loaded = loadSqlite();

/** What Node says of its SQLite, where it calls it experimental (Node 22). */
export const SQLITE_WARNING: string | undefined = loaded.warning;

/** Opens a connection without settings. @throws {Error} of SQLite */
export function connect(path: string, readOnly = false): DatabaseSync {
  return new loaded.DatabaseSync(path, { readOnly });
}

/**
 * Opens the database that changes are applied to, and creates it if there is none. A change that was applied is on the disk. SQLite copies its log
 * into the file whenever a change leaves 4 MB there: readers go on meanwhile.
 * @param path of the file; `:memory:` for tests
 * @throws {Error} of SQLite, e.g. for a file that is no database
 */
export function openDatabase(path: string): OpenDatabase {
  const connection = connect(path);
  try {
    connection.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${LOG_BYTES}`,
    );
    const database = overSqlite(connection);
    return { ...database, wasEmptied: migrate(database), close: () => connection.close() };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Opens a connection that only reads, beside the one that writes. */
export function openForReading(path: string): Database & { close(): void } {
  const connection = connect(path, true);
  connection.exec(`PRAGMA busy_timeout = ${PATIENCE}`);
  return { ...overSqlite(connection), close: () => connection.close() };
}

/** Loads SQLite without Node's own warning: a line in the log of the gateway says it. */
function loadSqlite() {
  const { emitWarning } = process;
  let warning: string | undefined;
  process.emitWarning = (text: string | Error) => {
    warning = String(text);
  };
  try {
    // An import would be loaded before any code runs.
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    return { DatabaseSync, warning };
  } finally {
    process.emitWarning = emitWarning;
  }
}
