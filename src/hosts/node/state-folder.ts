import { mkdir, open, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { UsageError } from "../../config/values.ts";
import { StoreError } from "../../database/store-error.ts";

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
