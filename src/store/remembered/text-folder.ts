import { mkdir, readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { syncDirectory, writeDurably } from "../files/durable-file.ts";
import { checkRecordName, RECORD_NAME, type TextStore } from "./text-store.ts";

const SUFFIX = ".record";

/** Texts in a folder, a file for each name. The folder belongs to the process that has locked the folder around it. */
export async function openTextFolder(directory: string): Promise<TextStore> {
  // Made absolute first: below a working directory that was deleted, mkdir would try for ever.
  const folder = resolve(directory);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await syncDirectory(folder);
  return {
    place: folder,
    async load() {
      const texts = new Map<string, string>();
      for (const file of await readdir(folder)) {
        const name = file.slice(0, -SUFFIX.length);
        if (!file.endsWith(SUFFIX) || !RECORD_NAME.test(name)) continue;
        texts.set(name, await readFile(join(folder, file), "utf8").catch(() => ""));
      }
      return texts;
    },
    async keep(name, text) {
      checkRecordName(name);
      await writeDurably(join(folder, `${name}${SUFFIX}`), Buffer.from(text));
    },
  };
}
