import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreError, sqliteCode } from "../../../database/store-error.ts";
import { connect } from "./open-database.ts";

/**
 * Takes a folder for this process alone, as long as it lives: it holds the lock of a small database there. The database of the gateway itself cannot be locked,
 * which would lock out the threads that read it.
 * @returns a function that gives the folder back
 * @throws {StoreError} STATE_DIRECTORY_IN_USE, naming the process that has it. @throws {Error} of SQLite
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, "clusterset.lock");
  createFile(path);
  const connection = connect(path);
  try {
    connection.exec("BEGIN IMMEDIATE");
    // Others read it while the lock is held, as far as it is committed.
    connection.exec(`PRAGMA user_version = ${process.pid}; COMMIT; BEGIN IMMEDIATE`);
    return () => connection.close();
  } catch (error) {
    try {
      if (sqliteCode(error) !== "SQLITE_BUSY") throw error;
      const { user_version: pid } = connection.prepare("PRAGMA user_version").get()!;
      throw new StoreError(
        "STATE_DIRECTORY_IN_USE",
        `${folder} is in use by process ${pid || "(unknown)"}: stop that gateway`,
      );
    } finally {
      connection.close();
    }
  }
}

/** Creates a file that only its user can read. One that exists is not opened: to close it again would drop the locks that SQLite has on it in this process. */
export function createFile(path: string): void {
  try {
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
