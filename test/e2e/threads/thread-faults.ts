/**
 * Loaded before a gateway (`--import`), in each of its threads. From SIGUSR2 on its main thread stands still
 * until the file MOVING_AGAIN is there; its answering thread 1 ends when the file ENDING_CAUSE says by which
 * cause.
 */
import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { isMainThread, workerData } from "node:worker_threads";

const { MOVING_AGAIN, ENDING_CAUSE } = process.env;
if (isMainThread && MOVING_AGAIN !== undefined)
  process.on("SIGUSR2", () => {
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(MOVING_AGAIN)) Atomics.wait(nothing, 0, 0, 50);
  });
if (!isMainThread && (workerData as { index?: number } | null)?.index === 1 && ENDING_CAUSE !== undefined)
  setInterval(() => {
    if (!existsSync(ENDING_CAUSE)) return;
    const cause = readFileSync(ENDING_CAUSE, "utf8");
    // The thread in its place goes on.
    unlinkSync(ENDING_CAUSE);
    // Node ends a thread that reaches the limit of its heap, and the process goes on.
    if (cause === "memory") for (let last: object = {}; ; ) last = { last };
    throw new Error("an error that nothing catches");
  }, 50).unref();
