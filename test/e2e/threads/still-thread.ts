/**
 * Loaded before a gateway (`--import`): its main thread stands still from a signal on until a file is there.
 */
import { existsSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const { MOVING_AGAIN: file } = process.env;
if (isMainThread && file !== undefined)
  process.on("SIGUSR2", () => {
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(file)) Atomics.wait(nothing, 0, 0, 50);
  });
