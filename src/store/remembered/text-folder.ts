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
  const fileOf = (name: string) => join(folder, `${name}${SUFFIX}`);
  return {
    place: folder,
    async names() {
      const files = (await readdir(folder)).filter((file) => file.endsWith(SUFFIX));
      return files.map((file) => file.slice(0, -SUFFIX.length)).filter((name) => RECORD_NAME.test(name));
    },
    read: (name) =>
      readFile(fileOf(name), "utf8").catch((error: NodeJS.ErrnoException) =>
        error.code === "ENOENT" ? undefined : "",
      ),
    async keep(name, text) {
      checkRecordName(name);
      await writeDurably(fileOf(name), Buffer.from(text));
    },
  };
}
