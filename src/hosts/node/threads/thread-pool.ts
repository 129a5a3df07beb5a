import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import type { Log } from "../../../assembly/log.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import {
  formatListenAddress,
  type ListenAddress,
  parseListenAddress,
  UsageError,
} from "../../../config/values.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import type { SharedLimitMemory, SharedLimits } from "../../../limits/shared.ts";
import type { Answering } from "../gateway/answering.ts";
import type { ListeningPlace } from "../listeners/listeners.ts";
import { listenerFailure, listenFailure, nodeClock } from "../process.ts";
import type { FetchHandler } from "../server/answer-request.ts";
import type { ServerTls } from "../tls.ts";
import { openThread, type RunningThread, type SharedThreadParts } from "./running-thread.ts";
import type { ThreadState } from "./thread-messages.ts";
import type { ThreadSharing } from "./thread-sharing.ts";

/** What answering threads are started with. */
interface ThreadPoolParts extends SharedThreadParts {
  /** How many. */
  readonly threads: number;
  /** The state of a thread that starts. */
  readonly all: () => ThreadState;
  readonly log: Log;
  /** Called before the first thread starts: from then on states have to be posted. */
  readonly onOpen: (pool: ThreadPool) => void;
  /** Called when a thread has ended that listened, before another one has its number. */
  readonly onEnded: (index: number) => void;
  /** Called for each thread that is to be replaced. */
  readonly onReplaced: () => void;
  /** Called when all threads have ended. */
  readonly onStop: () => void;
}

/** Bytes of the keys of session tickets (Node.js, `tls.createServer`). */
const TICKET_KEY_BYTES = 48;
/** The pause before a thread is started again, in milliseconds: for one that ended soon after its start, or cannot start. */
const PAUSE = 1000;
/** Threads that ran for longer are replaced without a pause. */
const LONG_RUN = 10_000;

/** The threads that answer clients. One that ends is replaced; only its connections are lost. */
export class ThreadPool implements Answering {
  readonly #parts: ThreadPoolParts;
  readonly #threads: (RunningThread | undefined)[] = [];
  #config: ServeConfig;
  #tls: ServerTls | undefined;
  #port = 0;
  #places: readonly ListeningPlace[] = [];
  #isStopping = false;

  private constructor(parts: ThreadPoolParts) {
    this.#parts = parts;
    this.#config = parts.config;
    this.#tls = withTicketKeys(parts.tls);
  }

  /** Starts all threads, which then listen: one that listened before the others are prepared would get all connections until then. @throws {UsageError} if they cannot listen on an address */
  static async start(parts: ThreadPoolParts): Promise<ThreadPool> {
    const pool = new ThreadPool(parts);
    parts.onOpen(pool);
    try {
      const indices = Array.from({ length: parts.threads }, (_, index) => index);
      const [first, ...others] = await Promise.all(indices.map((index) => pool.#prepare(index)));
      await first!.listen(parts.config);
      pool.#port = first!.port;
      pool.#places = first!.places;
      pool.#config = withPorts(parts.config, first!);
      await Promise.all(others.map((thread) => thread.listen(pool.#config)));
      return pool;
    } catch (error) {
      await pool.stop(0);
      throw error;
    }
  }

  get port(): number {
    return this.#port;
  }

  get places(): readonly ListeningPlace[] {
    return this.#places;
  }

  /** How many run now. */
  get running(): number {
    return this.#threads.filter((thread) => thread !== undefined).length;
  }

  /** Posts a state to every thread; queries that come from now on are answered from it. */
  post(state: ThreadState): void {
    const { signals } = this.#parts;
    for (const thread of this.#threads) thread?.post({ ...state, number: signals.next });
    signals.post();
  }

  renew(tls: ServerTls): void {
    this.#tls = withTicketKeys(tls);
    for (const thread of this.#threads) thread?.order({ order: "renew", tls: this.#tls! });
  }

  async stop(grace: number): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#threads.map((thread) => thread?.stop(grace)));
    this.#parts.onStop();
  }

  async #prepare(index: number): Promise<RunningThread> {
    const { log, all, ...shared } = this.#parts;
    const thread = await openThread({
      ...shared,
      index,
      sharesPorts: shared.threads > 1,
      config: this.#config,
      tls: this.#tls,
      state: { ...all(), number: shared.signals.posted },
      onStarted: (started) => {
        this.#threads[index] = started;
      },
      onError: (err) => log("error", "request-failed", "a request failed", { err, thread: index }),
      onEnded: (ended) => this.#ended(index, ended),
    });
    return thread;
  }

  /** Replaces a thread that ended although it should run. */
  #ended(
    index: number,
    { error, milliseconds }: { readonly error: unknown; readonly milliseconds: number },
  ): void {
    this.#threads[index] = undefined;
    this.#parts.onEnded(index);
    if (this.#isStopping) return;
    this.#parts.log(
      "error",
      "thread-ended",
      "an answering thread ended and is replaced: its connections are lost",
      {
        thread: index,
        err: error,
      },
    );
    this.#parts.onReplaced();
    this.#replace(index, milliseconds > LONG_RUN ? 0 : PAUSE);
  }

  #replace(index: number, pause: number): void {
    setTimeout(() => {
      if (this.#isStopping) return;
      const listening = this.#prepare(index).then((thread) => thread.listen(this.#config));
      listening.then(
        () =>
          this.#parts.log("info", "thread-replaced", "an answering thread is replaced", { thread: index }),
        (err) => {
          this.#threads[index] = undefined;
          this.#parts.log("error", "thread-not-started", "an answering thread could not start", {
            thread: index,
            err,
          });
          this.#replace(index, PAUSE);
        },
      );
    }, pause).unref();
  }
}

function withTicketKeys(tls: ServerTls | undefined): ServerTls | undefined {
  return tls && { ...tls, ticketKeys: new Uint8Array(randomBytes(TICKET_KEY_BYTES)) };
}

/** The addresses with the ports that the first thread listens on: they were 0 for any. */
function withPorts(config: ServeConfig, { port, places }: RunningThread): ServeConfig {
  const { host = "" } = parseListenAddress(config.listen);
  const addressesOf = (kind: "dns" | "dot") =>
    places.filter((place) => place.kind === kind).map(({ address }) => address);
  const [dns, dot] = [addressesOf("dns"), addressesOf("dot")];
  const withAddress = <Place extends object>(places: readonly Place[], addresses: readonly string[]) =>
    places.map((place, index) => ({ ...place, address: addresses[index]! }));
  if (dns.length !== config.dns.listen.length || dot.length !== config.dot.listen.length)
    throw new UsageError("a thread listens on other addresses than the settings name");
  return {
    ...config,
    listen: formatListenAddress(host, port),
    dns: { ...config.dns, listen: withAddress(config.dns.listen, dns) },
    dot: { ...config.dot, listen: withAddress(config.dot.listen, dot) },
  };
}

/** What answering threads need of the main thread. */
interface StartThreadsParts {
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
