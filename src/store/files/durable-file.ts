import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Makes what a directory lists (new, renamed and removed names) survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Writes a file that is there whole or not at all, and there for good when the promise resolves. */
export async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  await (await prepareDurably(path, bytes))();
}

/**
 * Writes a file under another name. When it fails, nothing has changed.
 * @returns what gives it its name: then it is there for good, and where that fails, perhaps
 */
export async function prepareDurably(path: string, bytes: Buffer): Promise<() => Promise<void>> {
  const temporary = `${path}.tmp`;
  try {
    const file = await open(temporary, "w", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  return async () => {
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  };
}
