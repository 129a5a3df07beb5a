/**
 * Loaded before a program (`--import`): what it writes for good (fsync, fdatasync) waits while the file HELD_UP_FILE exists, as on a disk
 * that does not answer.
 */
import { existsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const path = process.env.HELD_UP_FILE;
if (path === undefined) throw new Error("HELD_UP_FILE is not set");
const handle = await open("/dev/null");
const prototype: Pick<FileHandle, "sync" | "datasync"> = Object.getPrototypeOf(handle);
await handle.close();

for (const name of ["sync", "datasync"] as const) {
  const original = prototype[name];
  prototype[name] = async function (this: FileHandle) {
    while (existsSync(path)) await sleep(20);
    return original.call(this);
  };
}
