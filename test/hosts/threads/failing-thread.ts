import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import type { ThreadReport, ThreadStart } from "../../../src/hosts/node/threads/thread-messages.ts";

/* A thread that does what a failing one may do: it listens, and ends when a state says so. */

/** A thread reports this port plus the number of threads that were prepared when it listened. */
const FIRST_PORT = 8000;
/** How much longer each thread takes to prepare than the one before, in milliseconds. */
const PREPARING = 200;

const [{ start }] = (await once(parentPort!, "message")) as [{ start: ThreadStart }];
const { index, states, config, signals } = start;
const report = (message: ThreadReport) => parentPort!.postMessage(message);

states.on("message", ({ stubs = [] }: { stubs?: readonly { name: string }[] }) => {
  for (const { name } of stubs) {
    if (name === `throw-${index}`) throw new Error("an uncaught error");
    if (name === `exit-${index}`) process.exit(3);
  }
});
parentPort!.on("message", ({ order }: { order: string }) => {
  if (order === "stop") report({ report: "stopped" });
  if (order === "listen") listen();
});
const prepared = new Int32Array(signals);
await sleep(index * PREPARING);
Atomics.add(prepared, 0, 1);
report({ report: "prepared" });

function listen(): void {
  if (config.publicUrl === "https://unusable.test") {
    report({ report: "failed", message: "it cannot listen", isUsage: true });
    process.exit(1);
  }
  report({ report: "listening", port: FIRST_PORT + Atomics.load(prepared, 0), places: [] });
}
