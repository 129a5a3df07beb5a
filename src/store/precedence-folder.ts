import { mkdir, readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { syncDirectory, writeDurably } from "./durable-file.ts";
import type { PrecedenceStore } from "./precedence-store.ts";

const FILE = /^([@a-z0-9][-.a-z0-9]{0,126})\.json$/;

/** A store in a folder of its own: a file for each name. It belongs to the process that has locked the folder around it. */
export async function openPrecedenceFolder(directory: string): Promise<PrecedenceStore> {
  // Made absolute first: below a working directory that was deleted, mkdir would try for ever.
  const folder = resolve(directory);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await syncDirectory(folder);
  return {
    async load() {
      const texts = new Map<string, string>();
      for (const file of await readdir(folder)) {
        const name = FILE.exec(file)?.[1];
        if (name !== undefined) texts.set(name, await readFile(join(folder, file), "utf8"));
      }
      return texts;
    },
    async keep(name, text) {
      const file = `${name}.json`;
      if (!FILE.test(file)) throw new RangeError(`${JSON.stringify(name)} can be no file's name`);
      await writeDurably(join(folder, file), Buffer.from(text));
    },
  };
}
