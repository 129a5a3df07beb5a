import { parentPort, workerData } from "node:worker_threads";
import { UsageError } from "../../../../config/values/usage-error.ts";
import { Closers } from "../closers.ts";
import { startThread } from "./start-thread.ts";
import type { ThreadOrder, ThreadReport, ThreadStart } from "./thread-messages.ts";

/* The module that an answering thread runs. */

const main = parentPort!;
const report = (message: ThreadReport) => main.postMessage(message);
const closers = new Closers();
try {
  const answering = await startThread(workerData as ThreadStart, closers, (token, sighting) =>
    report({ report: "sighting", token, sighting }),
  );
  main.on("message", async (message: ThreadOrder) => {
    if (message.order === "renew") return answering.renew(message.tls);
    await closers.close(message.grace);
    report({ report: "stopped" });
  });
  report({ report: "listening", port: answering.port, places: answering.places });
} catch (error) {
  report({ report: "failed", message: (error as Error).message, isUsage: error instanceof UsageError });
  await closers.close(0);
  process.exit(1);
}
