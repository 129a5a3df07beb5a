/**
 * Loaded before a gateway (`--import`): its answering thread 1 ends as soon as a file says by which cause.
 */
import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { isMainThread, workerData } from "node:worker_threads";

/** Node ends a thread that reaches the limit of its heap, and the process goes on. */
function fillMemory(): never {
  for (let last: object = {}; ; ) last = { last };
}

const { ENDING_CAUSE: file } = process.env;
if (!isMainThread && (workerData as { index?: number } | null)?.index === 1 && file !== undefined)
  setInterval(() => {
    if (!existsSync(file)) return;
    const cause = readFileSync(file, "utf8");
    // The thread in its place goes on.
    unlinkSync(file);
    if (cause === "memory") fillMemory();
    throw new Error("an error that nothing catches");
  }, 50).unref();
