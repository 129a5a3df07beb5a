import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Writes a file that is there whole or not at all, and there for good when the promise resolves. */
export async function writeDurably(path: string, bytes: Buffer): Promise<void> {
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
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** Makes what a directory lists (new, renamed and removed names) survive a power cut. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
