import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir, open, realpath, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Log } from "../../assembly/log.ts";
import { UsageError } from "../../config/values.ts";
import { type Database, overSqlite, type Statement } from "../../database/driver.ts";
import { migrate } from "../../database/schema.ts";
import { StoreError, sqliteCode, storeFailure } from "../../database/store-error.ts";

/** Bytes of the write-ahead log after a checkpoint, at most. */
const LOG_BYTES = 16 * 1024 * 1024;
/**
 * Milliseconds that a reader waits while the log is recovered or restarted, which is all that can lock it
 * out.
 */
const PATIENCE = 2000;

/** A database in a file, or in memory. */
export interface OpenDatabase extends Database {
  /** Whether a database of another version was emptied. */
  readonly wasEmptied: boolean;
  close(): void;
}

const loaded = loadSqlite();

/** What Node says of its SQLite, where it calls it experimental (Node 22). */
const SQLITE_WARNING: string | undefined = loaded.warning;

/** Opens a connection without settings. @throws {Error} of SQLite */
export function connect(path: string, readOnly = false): DatabaseSync {
  return new loaded.DatabaseSync(path, { readOnly });
}

/**
 * Opens the database that changes are applied to, and creates it if there is none. A change that was applied
 * is on the disk. SQLite copies its log into the file whenever a change leaves 4 MB there: readers go on
 * meanwhile.
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

/**
 * Opens a connection that only reads, beside the one that writes.
 * @param onDamaged called once, when SQLite cannot read the file any more: only another start helps, which
 * sets it aside
 */
export function openForReading(
  path: string,
  onDamaged: (error: Error) => void = () => {},
): Database & { close(): void } {
  const connection = connect(path, true);
  connection.exec(`PRAGMA busy_timeout = ${PATIENCE}`);
  return { ...watched(overSqlite(connection), onDamaged), close: () => connection.close() };
}

/** A database that reports, once, that SQLite cannot read its file any more. */
function watched(database: Database, onDamaged: (error: Error) => void): Database {
  let isKnown = false;
  const watch =
    <Values extends unknown[], Result>(read: (...values: Values) => Result) =>
    (...values: Values): Result => {
      try {
        return read(...values);
      } catch (error) {
        if (!isKnown && isDamaged(error)) {
          isKnown = true;
          onDamaged(error);
        }
        throw error;
      }
    };
  const prepare = watch((sql: string): Statement => {
    const statement = database.prepare(sql);
    return {
      run: (...values) => statement.run(...values),
      get: watch((...values) => statement.get(...values)),
      all: watch((...values) => statement.all(...values)),
    };
  });
  return { ...database, prepare };
}

/** Ends the process, as an error outside of any request. @param message of SQLite */
export function throwUnreadable(message: string): never {
  throw new Error(`the database is damaged: ${message}`);
}

/** Whether SQLite found the file damaged. */
function isDamaged(error: unknown): error is Error {
  const code = sqliteCode(error);
  return code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
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
 * Opens the database of a state folder, which no other process can open until it is closed. One that is
 * damaged is set aside: workers push again.
 * @throws {UsageError} if the folder cannot be used. @throws {StoreError} if another process has it, or the
 * disk fails
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
  const opened = openSound(path, log);
  // It ends the process: a start sets the database aside, and workers push again.
  const database = {
    ...opened,
    ...watched(opened, (error) => setImmediate(() => throwUnreadable(error.message))),
  };
  if (database.wasEmptied)
    log("warn", "database-emptied", `${path} has another format: it is emptied, and workers push again`);
  const { ino } = statSync(path);
  let isClosed = false;
  return {
    ...database,
    path,
    atomically(change) {
      // SQLite would go on in a file without a name, and the change be acknowledged.
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
    if (isDamaged(error)) return error.message;
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

/** Another process has the state folder. */
export class StateFolderInUse extends UsageError {}

const CHOOSE_ANOTHER = "choose another folder with --state-dir (stateDirectory)";

/**
 * Makes a state folder where it does not exist, and writes and removes a file in it.
 * @throws {UsageError} if that fails
 */
export async function prepareStateFolder(stateDirectory: string): Promise<void> {
  const folder = resolve(stateDirectory);
  const probe = join(folder, `.writable-${process.pid}`);
  try {
    await makeFolder(folder);
    await (await open(probe, "w", 0o600)).close();
    await rm(probe, { force: true });
  } catch (error) {
    throw stateFolderFailure(error, stateDirectory) ?? error;
  }
}

/**
 * Where `mkdir` may not make a folder that is missing in one that exists (`/proc`), Node's recursive form
 * tries for ever.
 */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await mkdir(folder, { mode: 0o700 });
  }
}

/** What is wrong with a state folder, and the next step; undefined if the error has another cause. */
export function stateFolderFailure(error: unknown, stateDirectory: string): UsageError | undefined {
  if (error instanceof StoreError) {
    const place = `the state folder ${stateDirectory}`;
    return error.code === "STATE_DIRECTORY_IN_USE"
      ? new StateFolderInUse(`${place}: ${error.message}, or ${CHOOSE_ANOTHER}`)
      : new UsageError(`${place}: ${error.message}`);
  }
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === undefined || !path?.startsWith(resolve(stateDirectory))) return undefined;
  const user = process.getuid?.();
  const next =
    code === "ENOSPC" || code === "EDQUOT"
      ? `make room, or ${CHOOSE_ANOTHER}`
      : code === "ENOTDIR" || code === "EEXIST"
        ? `a file is in its place: ${CHOOSE_ANOTHER}`
        : `let ${user === undefined ? "the process" : `user ${user}`} write there (mount it writable; chown), or ${CHOOSE_ANOTHER}`;
  return new UsageError(
    `the state folder ${stateDirectory} cannot be written: ${(error as Error).message}; ${next}`,
  );
}

/**
 * Takes a folder for this process alone, as long as it lives: it holds the lock of a small database there.
 * The database of the gateway itself cannot be locked, which would lock out the threads that read it.
 * @returns a function that gives the folder back
 * @throws {StoreError} STATE_DIRECTORY_IN_USE, naming the process that has it. @throws {Error} of SQLite
 */
function lockFolder(folder: string): () => void {
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

/**
 * Creates a file that only its user can read. One that exists is not opened: to close it again would drop the
 * locks that SQLite has on it in this process.
 */
function createFile(path: string): void {
  try {
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Types of file systems of other machines, as Linux names them. */
const REMOTE =
  /^(?:nfs4?|cifs|smb[23]?|smbfs|ncpfs|9p|afs|ceph|coda|davfs|glusterfs|lustre|gpfs|beegfs|orangefs|pvfs2|ocfs2|gfs2?|fuse\.(?:sshfs|glusterfs|ceph(?:-fuse)?|s3fs|gcsfuse|goofys|mount-s3|mountpoint-s3|rclone|juicefs|davfs2?|smbnetfs|curlftpfs|mfs|lizardfs|seaweedfs|weed|blobfuse2?|hdfs|nfs|alluxio|geesefs))$/;

/**
 * The type of the file system of a path if it is one of another machine, where SQLite's locks do not work;
 * undefined otherwise, and where the system has no list.
 * @param path absolute, without links
 * @param mounts the list (proc_pid_mountinfo(5))
 */
export function networkFileSystem(path: string, mounts: string = readMounts()): string | undefined {
  let [longest, found] = [0, ""];
  for (const line of mounts.split("\n")) {
    const [, point = "", type = ""] = /^(?:\S+ ){4}(\S+) .* - (\S+) /.exec(line) ?? [];
    const folder = point.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)));
    const isAbove = folder === "/" || path === folder || path.startsWith(`${folder}/`);
    // The last of several mounts on one folder is the one that is seen.
    if (folder !== "" && isAbove && folder.length >= longest) [longest, found] = [folder.length, type];
  }
  return REMOTE.test(found) ? found : undefined;
}

function readMounts(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}
