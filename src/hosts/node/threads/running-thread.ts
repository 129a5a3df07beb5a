import { setTimeout as sleep } from "node:timers/promises";
import { MessageChannel, type Worker } from "node:worker_threads";
import type { Log } from "../../../assembly/log.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import type { SharedLimitMemory, SharedLimits } from "../../../limits/shared.ts";
import { throwUnreadable } from "../database.ts";
import type { Answering } from "../gateway/answering.ts";
import { nodeClock } from "../process.ts";
import type { FetchHandler } from "../server/requests.ts";
import type { ServerTls } from "../tls.ts";
import { answerHanded } from "./hand-over.ts";
import { spawnThread } from "./spawn-thread.ts";
import type { ThreadOrder, ThreadReport, ThreadSharing, ThreadStart, ThreadState } from "./thread-sharing.ts";

/** How long a thread may take to end its connections after the grace, in milliseconds. */
const LATE = 2000;

/** What every answering thread is started with, and needs of the main thread. */
export interface ThreadParts {
  readonly config: ServeConfig;
  /** How many there are. */
  readonly threads: number;
  readonly tls: ServerTls | undefined;
  /** The file of the database. */
  readonly database: string;
  readonly sharing: ThreadSharing;
  /** The limits of all threads, as this thread has them, and their memory. */
  readonly shared: Pick<SharedLimits, "clear">;
  readonly limitMemory: SharedLimitMemory;
  readonly stubs: Pick<StubZones, "list">;
  /** Answers the requests that a thread hands over. */
  readonly fetch: FetchHandler;
  readonly log: Log;
  /** The module that a thread runs. Default: answering-thread.ts */
  readonly entry?: URL;
  /** Becomes the first thread. Default: it is started when all it needs is there. */
  readonly spawned?: Worker | undefined;
}

/** A thread that answers clients. */
export type RunningThread = ReturnType<typeof openThread>;

/**
 * Starts a thread. Every state that is posted from now on reaches it.
 * @param parts with the addresses and the certificates of now
 * @param onEnded called when the thread has ended after it listened, with how long it ran in milliseconds
 */
export function openThread(
  index: number,
  { threads, sharing, stubs, fetch, log, entry, spawned, ...parts }: ThreadParts,
  onEnded: (error: unknown, milliseconds: number) => void,
) {
  const states = new MessageChannel();
  const requests = new MessageChannel();
  const metrics = new MessageChannel();
  const start: ThreadStart = {
    index,
    sharesPorts: threads > 1,
    config: parts.config,
    tls: parts.tls,
    database: parts.database,
    limitMemory: parts.limitMemory,
    signals: sharing.signals.memory,
    clock: { now: nodeClock.now(), hrtime: process.hrtime.bigint() },
    states: states.port2,
    requests: requests.port2,
    metrics: metrics.port2,
  };
  const startedAt = performance.now();
  const worker = spawned ?? spawnThread(index, entry);
  worker.ref();
  worker.postMessage({ order: "start", start } satisfies ThreadOrder, [
    states.port2,
    requests.port2,
    metrics.port2,
  ]);
  const ended = new AbortController();
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  const state: ThreadState = { ...sharing.state, stubs: stubs.list() };
  states.port1.postMessage(state);
  const endMeasuring = sharing.metrics?.add(metrics.port1);
  answerHanded(requests.port1, fetch, ended.signal, (err) =>
    log("error", "request-failed", "a request failed", { err, thread: index }),
  );
  const stopped = Promise.withResolvers<void>();
  const prepared = Promise.withResolvers<void>();
  const listening = Promise.withResolvers<Pick<Answering, "port" | "places">>();
  // A thread that ends before the message to listen rejects `prepared`.
  listening.promise.catch(() => {});
  let isListening = false;
  let error: unknown = new Error("the thread ended");
  worker.on("message", (message: ThreadReport) => {
    if (message.report === "prepared") prepared.resolve();
    else if (message.report === "listening") {
      isListening = true;
      listening.resolve(message);
    } else if (message.report === "failed") {
      error = message.isUsage ? new UsageError(message.message) : new Error(message.message);
    } else if (message.report === "damage") sharing.damaged(message.cluster);
    else if (message.report === "unreadable") throwUnreadable(message.message);
    else stopped.resolve();
  });
  worker.on("error", (cause) => {
    error = cause;
  });
  worker.once("exit", () => {
    ended.abort(error);
    endMeasuring?.();
    states.port1.close();
    requests.port1.close();
    if (isListening) return onEnded(error, performance.now() - startedAt);
    prepared.reject(error);
    listening.reject(error);
  });
  return {
    /**
     * Resolves when it could listen. Rejects with a {UsageError} if the settings cannot be used, with another
     * error if it ends before.
     */
    prepared: prepared.promise,
    /**
     * @param config the addresses.
     * @returns where it listens.
     * @throws {UsageError} if it cannot.
     * @throws {Error} if it ends before
     */
    listen: (config: ServeConfig) => {
      worker.postMessage({ order: "listen", config } satisfies ThreadOrder);
      return listening.promise;
    },
    post: (next: ThreadState) => states.port1.postMessage(next),
    renew: (tls: ServerTls) => worker.postMessage({ order: "renew", tls } satisfies ThreadOrder),
    /** Ends its connections as `Answering.stop`, then the thread. */
    stop: async (grace: number) => {
      worker.postMessage({ order: "stop", grace } satisfies ThreadOrder);
      await Promise.race([stopped.promise, exited, sleep(grace + LATE, undefined, { ref: false })]);
      await worker.terminate();
    },
  };
}
