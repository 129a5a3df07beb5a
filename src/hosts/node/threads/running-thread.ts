import * as module from "node:module";
import { dirname } from "node:path";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import type { Clock } from "../../../gateway/clock.ts";
import type { SharedLimitMemory } from "../../../limits/shared.ts";
import type { ListeningPlace } from "../listeners/listeners.ts";
import type { FetchHandler } from "../server/answer-request.ts";
import type { ServerTls } from "../tls.ts";
import { answerHanded } from "./hand-over.ts";
import type { PostedState, ThreadOrder, ThreadReport, ThreadStart } from "./thread-messages.ts";
import type { ThreadSignals } from "./thread-sharing.ts";

/** How long a thread may take to end its connections beyond the grace, in milliseconds. */
const LATE = 2000;
const ENTRY = new URL(
  import.meta.url.endsWith(".ts") ? "answering-thread.ts" : "answering-thread.js",
  import.meta.url,
);

/** What every thread is started with. */
export interface SharedThreadParts {
  readonly config: ServeConfig;
  readonly tls: ServerTls | undefined;
  /** The file of the database. */
  readonly database: string;
  readonly clock: Clock;
  readonly signals: ThreadSignals;
  readonly limitMemory: SharedLimitMemory;
  /** Measures a thread at the other end of a port. @returns a function to call when the thread has ended */
  readonly measure: (port: MessagePort) => () => void;
  /** Answers the requests that the thread hands over. */
  readonly fetch: FetchHandler;
  /** Called with the cluster of a damaged row. */
  readonly onDamage: (clusterId: string) => void;
  /** The module that the thread runs. Default: answering-thread.ts */
  readonly entry?: URL;
}

/** What one thread is started with. */
interface ThreadParts extends SharedThreadParts {
  readonly index: number;
  /** Whether other threads listen on the same ports. */
  readonly sharesPorts: boolean;
  readonly state: PostedState;
  /** Called at once: every state that is posted from now on reaches the thread. */
  readonly onStarted: (thread: RunningThread) => void;
  readonly onError: (error: unknown) => void;
  /** Called when the thread has ended after it listened. @param milliseconds how long it ran */
  readonly onEnded: (ended: { readonly error: unknown; readonly milliseconds: number }) => void;
}

/** A thread that answers clients. */
export interface RunningThread {
  readonly port: number;
  readonly places: readonly ListeningPlace[];
  /** @param config the addresses. @throws {UsageError} if it cannot listen. @throws {Error} if it ends before */
  listen(config: ServeConfig): Promise<void>;
  post(state: PostedState): void;
  order(order: ThreadOrder): void;
  /** Ends its connections as `Answering.stop`, then the thread. */
  stop(grace: number): Promise<void>;
}

/** Starts a thread; resolves when it is prepared to listen. @throws {UsageError} if the settings cannot be used. @throws {Error} if it ends before */
export function openThread(parts: ThreadParts): Promise<RunningThread> {
  const {
    index,
    sharesPorts,
    config,
    tls,
    database,
    clock,
    signals,
    limitMemory,
    state,
    measure,
    fetch,
    onDamage,
    entry = ENTRY,
  } = parts;
  const states = new MessageChannel();
  const requests = new MessageChannel();
  const metrics = new MessageChannel();
  const start: ThreadStart = {
    index,
    sharesPorts,
    config,
    tls,
    database,
    limitMemory,
    signals: signals.memory,
    clock: { now: clock.now(), hrtime: process.hrtime.bigint() },
    states: states.port2,
    requests: requests.port2,
    metrics: metrics.port2,
  };
  const startedAt = performance.now();
  const worker = new Worker(entry, {
    name: `answering-${index}`,
    workerData: start,
    transferList: [states.port2, requests.port2, metrics.port2],
    env: threadEnvironment(),
    // The young generation is 32 MiB by default, and a thread that answers keeps nothing young.
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  });
  const ended = new AbortController();
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  states.port1.postMessage(state);
  const endMeasuring = measure(metrics.port1);
  answerHanded(requests.port1, fetch, ended.signal, parts.onError);
  let stopped = () => {};
  const prepared = Promise.withResolvers<RunningThread>();
  const listening = Promise.withResolvers<void>();
  // A thread that ends before it is told to listen rejects `prepared`.
  listening.promise.catch(() => {});
  const thread = {
    port: 0,
    places: [] as readonly ListeningPlace[],
    listen: (config: ServeConfig) => {
      worker.postMessage({ order: "listen", config } satisfies ThreadOrder);
      return listening.promise;
    },
    post: (next: PostedState) => states.port1.postMessage(next),
    order: (order: ThreadOrder) => worker.postMessage(order),
    stop: async (grace: number) => {
      const late = new Promise<void>((resolve) => setTimeout(resolve, grace + LATE).unref());
      const done = new Promise<void>((resolve) => {
        stopped = resolve;
      });
      worker.postMessage({ order: "stop", grace } satisfies ThreadOrder);
      await Promise.race([done, exited, late]);
      await worker.terminate();
    },
  };
  parts.onStarted(thread);
  let isListening = false;
  let error: unknown = new Error("the thread ended");
  worker.on("message", (message: ThreadReport) => {
    if (message.report === "prepared") prepared.resolve(thread);
    else if (message.report === "listening") {
      isListening = true;
      thread.port = message.port;
      thread.places = message.places;
      listening.resolve();
    } else if (message.report === "failed") {
      error = message.isUsage ? new UsageError(message.message) : new Error(message.message);
    } else if (message.report === "damage") onDamage(message.cluster);
    else stopped();
  });
  worker.on("error", (cause) => {
    error = cause;
  });
  worker.once("exit", () => {
    ended.abort(error);
    endMeasuring();
    states.port1.close();
    requests.port1.close();
    if (isListening) return parts.onEnded({ error, milliseconds: performance.now() - startedAt });
    prepared.reject(error);
    listening.reject(error);
  });
  return prepared.promise;
}

/** A thread reads and writes the compile cache of this one, if there is one (Node.js, module.enableCompileCache): it loads the same modules. */
function threadEnvironment(): NodeJS.ProcessEnv {
  // It has a folder for each version of Node.
  const cache = module.getCompileCacheDir();
  return cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(cache) };
}
