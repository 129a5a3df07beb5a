import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import type { ThreadReport, ThreadStart } from "../../../src/hosts/node/threads/thread-sharing.ts";

/* A thread that does what a failing one may do: it listens, and ends when a state says so. */

const [{ start }] = (await once(parentPort!, "message")) as [{ start: ThreadStart }];
const { index, states } = start;
const report = (message: ThreadReport) => parentPort!.postMessage(message);

states.on("message", ({ stubs = [] }: { stubs?: readonly { name: string }[] }) => {
  if (stubs.some(({ name }) => name === `exit-${index}`)) process.exit(3);
});
parentPort!.on("message", ({ order }: { order: string }) => {
  if (order === "stop") report({ report: "stopped" });
  if (order === "listen") report({ report: "listening", port: 8000, places: [] });
});
// Until then a state has come that ends it.
await sleep(200);
report({ report: "prepared" });
