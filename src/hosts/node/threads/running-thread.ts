import { setTimeout as sleep } from "node:timers/promises";
import { MessageChannel, type Transferable, type Worker } from "node:worker_threads";
import type { Log } from "../../../assembly/log.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import type { SharedLimitMemory, SharedLimits } from "../../../limits/shared.ts";
import { throwUnreadable } from "../database.ts";
import { nodeClock } from "../process.ts";
import type { FetchHandler } from "../server/requests.ts";
import type { ServerTls } from "../tls.ts";
import { answerHanded } from "./hand-over.ts";
import { spawnThread } from "./spawn-thread.ts";
import type {
  ThreadCall,
  ThreadMessage,
  ThreadMethods,
  ThreadSharing,
  ThreadStart,
  ThreadState,
} from "./thread-sharing.ts";

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

type Result<Method extends keyof ThreadMethods> = Awaited<ReturnType<ThreadMethods[Method]>>;

/**
 * Starts a thread. Every state that is posted from now on reaches it.
 * @param parts with the addresses and the certificates of now
 */
export function openThread(
  index: number,
  { threads, sharing, stubs, fetch, log, entry, spawned, ...parts }: ThreadParts,
) {
  const startedAt = performance.now();
  const worker = spawned ?? spawnThread(index, entry);
  worker.ref();
  const calls = new Map<number, PromiseWithResolvers<unknown>>();
  const ended = new AbortController();
  let last = 0;
  /** Rejects if the thread ends before its answer. */
  const call = async <Method extends keyof ThreadMethods>(
    method: Method,
    argument?: Parameters<ThreadMethods[Method]>[0],
    transferred: readonly Transferable[] = [],
  ): Promise<Result<Method>> => {
    ended.signal.throwIfAborted();
    const id = ++last;
    const answer = Promise.withResolvers<unknown>();
    calls.set(id, answer);
    worker.postMessage({ id, method, argument } satisfies ThreadCall, transferred);
    return answer.promise as Promise<Result<Method>>;
  };
  worker.on("message", (message: ThreadMessage) => {
    if ("damaged" in message) return sharing.damaged(message.damaged);
    if ("unreadable" in message) return throwUnreadable(message.unreadable);
    const answer = calls.get(message.id)!;
    calls.delete(message.id);
    if ("value" in message) return answer.resolve(message.value);
    const { failure, isUsage } = message;
    answer.reject(isUsage ? new UsageError(failure) : new Error(failure));
  });
  const states = new MessageChannel();
  const requests = new MessageChannel();
  states.port1.postMessage({ ...sharing.state, stubs: stubs.list() } satisfies ThreadState);
  answerHanded(requests.port1, fetch, ended.signal, (err) =>
    log("error", "request-failed", "a request failed", { err, thread: index }),
  );
  const endMeasuring = sharing.metrics?.add(() => call("measure"));
  let error: unknown = new Error("the thread ended");
  worker.on("error", (cause) => {
    error = cause;
  });
  const exited = new Promise<ThreadEnd>((resolve) =>
    worker.once("exit", () => {
      ended.abort(error);
      for (const { reject } of calls.values()) reject(error);
      endMeasuring?.();
      states.port1.close();
      requests.port1.close();
      resolve({ error, milliseconds: performance.now() - startedAt });
    }),
  );
  return {
    exited,
    /** `prepare`, `listen` and `renew` are described at `ThreadMethods`. */
    prepare: () => {
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
      };
      return call("prepare", start, [states.port2, requests.port2]);
    },
    listen: (config: ServeConfig) => call("listen", config),
    post: (next: ThreadState) => states.port1.postMessage(next),
    renew: (tls: ServerTls) => {
      // One that does not listen by then ends.
      call("renew", tls).catch(() => {});
    },
    /** Ends its connections as `Answering.stop`, then the thread. */
    stop: async (grace: number) => {
      const late = sleep(grace + LATE, undefined, { ref: false });
      await Promise.race([call("stop", grace), late]).catch(() => {});
      await worker.terminate();
    },
  };
}

/** The end of a thread. */
interface ThreadEnd {
  readonly error: unknown;
  /** How long it ran. */
  readonly milliseconds: number;
}
