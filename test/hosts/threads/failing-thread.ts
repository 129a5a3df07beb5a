import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import type {
  ThreadCall,
  ThreadMessage,
  ThreadStart,
} from "../../../src/hosts/node/threads/thread-sharing.ts";

/* A thread that does what a failing one may do: it listens, and ends when a state says so. */

const [{ id, argument }] = (await once(parentPort!, "message")) as [ThreadCall];
const { index, states } = argument as ThreadStart;
const post = (message: ThreadMessage) => parentPort!.postMessage(message);

states.on("message", ({ stubs = [] }: { stubs?: readonly { name: string }[] }) => {
  if (stubs.some(({ name }) => name === `exit-${index}`)) process.exit(3);
});
parentPort!.on("message", ({ id }: ThreadCall) => post({ id, value: { port: 8000, places: [] } }));
// Until then a state has come that ends it.
await sleep(200);
post({ id, value: undefined });
