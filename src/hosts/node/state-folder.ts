import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { UsageError } from "../../config/values.ts";
import { StoreError, sqliteCode } from "../../database/store-error.ts";
import { connect } from "./database/open-database.ts";

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

/** Where `mkdir` may not make a folder that is missing in one that exists (`/proc`), Node's recursive form tries for ever. */
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

/** Types of file systems of other machines, as Linux names them. */
const REMOTE =
  /^(?:nfs4?|cifs|smb[23]?|smbfs|ncpfs|9p|afs|ceph|coda|davfs|glusterfs|lustre|gpfs|beegfs|orangefs|pvfs2|ocfs2|gfs2?|fuse\.(?:sshfs|glusterfs|ceph(?:-fuse)?|s3fs|gcsfuse|goofys|mount-s3|mountpoint-s3|rclone|juicefs|davfs2?|smbnetfs|curlftpfs|mfs|lizardfs|seaweedfs|weed|blobfuse2?|hdfs|nfs|alluxio|geesefs))$/;

/**
 * The type of the file system of a path if it is one of another machine, where SQLite's locks do not work; undefined otherwise, and where the system has no list.
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
