import { randomBytes } from "node:crypto";
import type { Log } from "../../../../assembly/log.ts";
import type { ServeConfig } from "../../../../config/serve-config.ts";
import { formatListenAddress, parseListenAddress, UsageError } from "../../../../config/values.ts";
import type { ListeningPlace } from "../../listeners/listeners.ts";
import type { ServerTls } from "../../tls/tls.ts";
import type { Answering } from "../answering.ts";
import { openThread, type RunningThread, type SharedThreadParts } from "./running-thread.ts";
import type { ThreadState } from "./thread-messages.ts";

/** What answering threads are started with. */
export interface ThreadPoolParts extends SharedThreadParts {
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
        ...{ thread: index, err: error },
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
            ...{ thread: index, err },
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
