import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";

/** The folder for what the end-to-end tests build or fetch; it lies outside the checkout. */
export const cacheFolder = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
  "clusterset-doh",
  "e2e",
);

/** Returns `cacheFolder/name`, which `fill` makes if it is absent; a half-finished one never stays. */
export async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const target = join(cacheFolder, name);
  if (existsSync(target)) return target;
  await mkdir(dirname(target), { recursive: true });
  const temporary = await mkdtemp(join(dirname(target), `.${basename(target)}-`));
  try {
    await fill(temporary);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    // Another process that was as early may have finished first.
    if (!existsSync(target)) throw error;
  }
  return target;
}
