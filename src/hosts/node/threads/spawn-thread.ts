import * as module from "node:module";
import { dirname } from "node:path";
import { Worker } from "node:worker_threads";

const ENTRY = new URL(
  import.meta.url.endsWith(".ts") ? "answering-thread.ts" : "answering-thread.js",
  import.meta.url,
);

/**
 * Starts a thread that loads its modules and waits for calls (`ThreadMethods`). Until the worker is
 * referenced (`Worker.ref`), the process may end.
 * @param entry the module that it runs. Default: answering-thread.ts
 */
export function spawnThread(index: number, entry = ENTRY): Worker {
  // A thread reads and writes the compile cache of this one, if there is one (Node.js,
  // module.enableCompileCache): it loads the same modules.
  const cache = module.getCompileCacheDir();
  const worker = new Worker(entry, {
    name: `answering-${index}`,
    workerData: { index },
    // The cache has a folder for each version of Node.
    env: cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(cache) },
    // The young generation is 32 MiB by default, and a thread that answers keeps nothing young.
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  });
  worker.unref();
  return worker;
}
