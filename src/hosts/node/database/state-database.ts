import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../../assembly/log.ts";
import { UsageError } from "../../../config/values.ts";
import { StoreError, sqliteCode, storeFailure } from "../../../database/store-error.ts";
import { createFile, lockFolder, networkFileSystem, prepareStateFolder } from "../state-folder.ts";
import { type OpenDatabase, openDatabase, SQLITE_WARNING } from "./open-database.ts";

/** The file of the database in a state folder. */
export const DATABASE_FILE = "clusterset.db";

/** The database of a state folder. */
export interface StateDatabase extends OpenDatabase {
  /** Of its file, for `openForReading`. */
  readonly path: string;
  /** May be called again. */
  close(): void;
}

/**
 * Opens the database of a state folder, which no other process can open until it is closed. One that is damaged is set aside: workers push again.
 * @throws {UsageError} if the folder cannot be used. @throws {StoreError} if another process has it, or the disk fails
 */
export async function openStateDatabase(stateDirectory: string, log: Log): Promise<StateDatabase> {
  if (SQLITE_WARNING !== undefined)
    log("info", "sqlite-experimental", `Node ${process.versions.node} says: ${SQLITE_WARNING}`);
  await prepareStateFolder(stateDirectory);
  // SQLite waits for the disk in this thread; what may wait for another machine does not.
  const folder = await realpath(stateDirectory);
  const type = networkFileSystem(folder);
  if (type !== undefined)
    throw new UsageError(
      `the state folder ${stateDirectory} is on a network file system (${type}), where the locks of SQLite do not work: choose a folder on a disk of this machine with --state-dir (stateDirectory), or keep the state in Valkey or Redis (store.url)`,
    );
  try {
    const unlock = lockFolder(folder);
    try {
      return openLocked(join(folder, DATABASE_FILE), unlock, log);
    } catch (error) {
      unlock();
      throw error;
    }
  } catch (error) {
    throw storeFailure(error) ?? error;
  }
}

function openLocked(path: string, unlock: () => void, log: Log): StateDatabase {
  const database = openSound(path, log);
  if (database.wasEmptied)
    log("warn", "database-emptied", `${path} has another format: it is emptied, and workers push again`);
  const { ino } = statSync(path);
  let isClosed = false;
  return {
    ...database,
    path,
    atomically(change) {
      // SQLite would go on in a file that nobody finds any more, and the change be acknowledged.
      if (statSync(path, { throwIfNoEntry: false })?.ino !== ino)
        throw new StoreError(
          "STORE_FAILED",
          "the gateway's database was removed: nothing can be stored until the gateway is started again",
        );
      return database.atomically(change);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      database.close();
      unlock();
    },
  };
}

/** Opens a database, or a new one in place of a damaged one. */
function openSound(path: string, log: Log): OpenDatabase {
  createFile(path);
  const damage = damageOf(path);
  if (typeof damage !== "string") return damage;
  const aside = setAside(path);
  log(
    "error",
    "database-damaged",
    `${path} is damaged (${damage}): it is set aside, the gateway starts without state, and workers push again`,
    { path: aside },
  );
  createFile(path);
  return openDatabase(path);
}

/** @returns the database if it is sound, else what is wrong with it */
function damageOf(path: string): OpenDatabase | string {
  let database: OpenDatabase | undefined;
  try {
    database = openDatabase(path);
    const found = String(database.prepare("PRAGMA quick_check(1)").get()?.quick_check);
    if (found === "ok") return database;
    database.close();
    return found;
  } catch (error) {
    database?.close();
    const code = sqliteCode(error);
    if (code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB") return (error as Error).message;
    throw error;
  }
}

/** Moves a database away. @returns where it is */
function setAside(path: string): string {
  const aside = `${path}.damaged-${new Date().toISOString().replaceAll(":", "-")}`;
  // The log first: a database that is made anew must never find it.
  for (const part of ["-wal", ""]) if (existsSync(path + part)) renameSync(path + part, aside + part);
  rmSync(`${path}-shm`, { force: true });
  return aside;
}
