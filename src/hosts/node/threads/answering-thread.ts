import { parentPort } from "node:worker_threads";
import { UsageError } from "../../../config/values.ts";
import type { Answering } from "../gateway/answering.ts";
import { Closers } from "../gateway/parts.ts";
import { type PreparedThread, prepareThread } from "./start-thread.ts";
import type { ThreadCall, ThreadMessage, ThreadMethods } from "./thread-sharing.ts";

/* The module that an answering thread runs. */

const main = parentPort!;
const post = (message: ThreadMessage) => main.postMessage(message);
const closers = new Closers();
let prepared: PreparedThread | undefined;
const listening = Promise.withResolvers<Answering>();
const methods: ThreadMethods = {
  async prepare(start) {
    prepared = await prepareThread(start, closers, {
      onDamage: (damaged) => post({ damaged }),
      onUnreadable: ({ message }) => post({ unreadable: message }),
    });
  },
  async listen(config) {
    const answering = await prepared!.listen(config);
    listening.resolve(answering);
    return { port: answering.port, places: answering.places };
  },
  renew: async (tls) => (await listening.promise).renew(tls),
  stop: (grace) => closers.close(grace),
  measure: async () => (await prepared?.measure()) ?? [],
};
main.on("message", async ({ id, method, argument }: ThreadCall) => {
  try {
    post({ id, value: await methods[method](argument as never) });
  } catch (error) {
    post({ id, failure: (error as Error).message, isUsage: error instanceof UsageError });
  }
});
