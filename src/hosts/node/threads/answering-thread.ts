import { parentPort } from "node:worker_threads";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import { Closers } from "../gateway/parts.ts";
import { startThread } from "./start-thread.ts";
import type { ThreadOrder, ThreadReport, ThreadStart } from "./thread-sharing.ts";

/* The module that an answering thread runs. */

const main = parentPort!;
const report = (message: ThreadReport) => main.postMessage(message);
const closers = new Closers();
const addresses = Promise.withResolvers<ServeConfig>();
const begun = Promise.withResolvers<ThreadStart>();
const started = begun.promise.then((start) =>
  startThread(start, closers, {
    onDamage: (cluster) => report({ report: "damage", cluster }),
    onUnreadable: ({ message }) => report({ report: "unreadable", message }),
    addresses: () => {
      report({ report: "prepared" });
      return addresses.promise;
    },
  }),
);
main.on("message", async (message: ThreadOrder) => {
  if (message.order === "start") return begun.resolve(message.start);
  if (message.order === "listen") return addresses.resolve(message.config);
  if (message.order === "renew") return (await started).renew(message.tls);
  await closers.close(message.grace);
  report({ report: "stopped" });
});
try {
  const answering = await started;
  report({ report: "listening", port: answering.port, places: answering.places });
} catch (error) {
  report({ report: "failed", message: (error as Error).message, isUsage: error instanceof UsageError });
  await closers.close(0);
  process.exit(1);
}
