import { parentPort, workerData } from "node:worker_threads";
import type { ThreadReport, ThreadStart } from "../../../src/hosts/node/gateway/threads/thread-messages.ts";

/* A thread that does what a failing one may do: it listens, and ends when a state says so. */

const { index, states, config } = workerData as ThreadStart;
const report = (message: ThreadReport) => parentPort!.postMessage(message);

states.on("message", ({ stubs = [] }: { stubs?: readonly { name: string }[] }) => {
  for (const { name } of stubs) {
    if (name === `throw-${index}`) throw new Error("an uncaught error");
    if (name === `exit-${index}`) process.exit(3);
  }
});
parentPort!.on("message", ({ order }: { order: string }) => {
  if (order === "stop") report({ report: "stopped" });
});
if (config.publicUrl === "https://unusable.test") {
  report({ report: "failed", message: "it cannot listen", isUsage: true });
  process.exit(1);
}
report({ report: "listening", port: 8443, places: [] });
