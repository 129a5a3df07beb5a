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
  await (await prepareDurably(path, [bytes])).name();
}

/** A file that was written under another name. */
export interface PreparedFile {
  /** Its length. */
  readonly bytes: number;
  /** Gives it its name. Then it is there for good, and where that fails, perhaps. */
  name(): Promise<void>;
}

/** Writes a file under another name, part by part. When it fails, nothing has changed. */
export async function prepareDurably(
  path: string,
  parts: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<PreparedFile> {
  const temporary = `${path}.tmp`;
  let bytes = 0;
  try {
    const file = await open(temporary, "w", 0o600);
    try {
      for await (const part of parts) {
        await file.writeFile(part);
        bytes += part.length;
      }
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  return {
    bytes,
    async name() {
      await rename(temporary, path);
      await syncDirectory(dirname(path));
    },
  };
}
