import { createServer } from "node:net";
import type { Log } from "../../../../assembly/log.ts";
import type { ServeConfig } from "../../../../config/serve-config.ts";
import { type ListenAddress, parseListenAddress } from "../../../../config/values.ts";
import type { StubZones } from "../../../../forward/stub-zones.ts";
import type { SharedLimitMemory, SharedLimits } from "../../../../limits/shared/shared-limits.ts";
import { listenerFailure, listenFailure } from "../../listen-failure.ts";
import { nodeClock } from "../../node-clock.ts";
import type { FetchHandler } from "../../server/fetch-request.ts";
import type { ServerTls } from "../../tls/tls.ts";
import { ThreadPool } from "./thread-pool.ts";
import type { ThreadSharing } from "./thread-sharing.ts";

/** What answering threads need of the main thread. */
export interface StartThreadsParts {
  readonly config: ServeConfig;
  /** How many. */
  readonly threads: number;
  readonly tls: ServerTls | undefined;
  /** The file of the database. */
  readonly database: string;
  readonly sharing: ThreadSharing;
  /** The limits of all threads, as this thread has them, and their memory. */
  readonly shared: SharedLimits;
  readonly limitMemory: SharedLimitMemory;
  readonly stubs: StubZones;
  readonly fetch: FetchHandler;
  readonly log: Log;
}

/** Starts the threads that answer clients. @throws {UsageError} if they cannot listen on an address */
export async function startThreads(parts: StartThreadsParts): Promise<ThreadPool> {
  const { config, threads, tls, database, sharing, shared, limitMemory, stubs, fetch, log } = parts;
  if (threads > 1) await checkFree(config);
  const { signals } = sharing;
  const end = signals.start(nodeClock.now, sharing.beat);
  // Readiness is that of all threads: until then the first one would get every connection.
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const fetchStarted: FetchHandler = async (request, client) => {
    await started;
    return fetch(request, client);
  };
  const pool = await ThreadPool.start({
    threads,
    config,
    tls,
    database,
    clock: nodeClock,
    signals,
    limitMemory,
    fetch: fetchStarted,
    log,
    all: () => ({ ...sharing.state, stubs: stubs.list() }),
    onDamage: sharing.damaged,
    onOpen: (opened) => {
      sharing.post = (state) => opened.post(state);
    },
    measure: (port) => sharing.metrics?.add(port) ?? (() => {}),
    onEnded: (index) => shared.clear(index),
    onReplaced: () => {
      sharing.replaced++;
    },
    onStop: end,
  });
  start();
  signals.markStarted();
  log("info", "threads", threads === 1 ? "a thread answers clients" : `${threads} threads answer clients`, {
    threads,
  });
  return pool;
}

/** Sockets that share ports would also share them with another gateway. @throws {UsageError} if another program listens on an address */
async function checkFree({ listen, dns, dot }: ServeConfig): Promise<void> {
  const places: [string, ("dns" | "dot")?][] = [[listen]];
  for (const { address } of dns.listen) places.push([address, "dns"]);
  for (const { address } of dot.listen) places.push([address, "dot"]);
  for (const [address, kind] of places) {
    const place = parseListenAddress(address);
    if (place.port === 0) continue;
    try {
      await tryTcp(place);
    } catch (error) {
      const failure = error as NodeJS.ErrnoException;
      throw kind === undefined ? listenFailure(failure, place) : listenerFailure(failure, place, kind);
    }
  }
}

function tryTcp({ host, port }: ListenAddress): Promise<void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, exclusive: true, ...(host !== undefined && { host }) }, () =>
      server.close(() => resolve()),
    );
  });
}
