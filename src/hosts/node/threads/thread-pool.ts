import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Worker } from "node:worker_threads";
import type { ServeConfig } from "../../../config/settings.ts";
import { formatListenAddress, parseListenAddress, UsageError } from "../../../config/values.ts";
import type { Answering } from "../gateway/answering.ts";
import { type ListeningPlace, listen, listenFailure } from "../listen.ts";
import { nodeClock } from "../process.ts";
import type { ServerTls } from "../tls.ts";
import { openThread, type RunningThread, type ThreadParts } from "./running-thread.ts";
import type { ThreadState } from "./thread-sharing.ts";

/** Bytes of the keys of session tickets (Node.js, `tls.createServer`). */
const TICKET_KEY_BYTES = 48;
/**
 * The pause before a thread is started again, in milliseconds: for one that ended soon after its start, or
 * cannot start.
 */
const PAUSE = 1000;
/** Threads that ran for longer are replaced without a pause. */
const LONG_RUN = 10_000;

/** Starts the threads that answer clients. @throws {UsageError} if they cannot listen on an address */
export async function startThreads(parts: ThreadParts): Promise<ThreadPool> {
  const { config, threads, log } = parts;
  if (threads > 1) await checkFree(config);
  const pool = await ThreadPool.start(parts);
  log("info", "threads", threads === 1 ? "a thread answers clients" : `${threads} threads answer clients`, {
    threads,
  });
  return pool;
}

/** The threads that answer clients. One that ends is replaced; only its connections are lost. */
class ThreadPool implements Answering {
  readonly #parts: ThreadParts;
  readonly #endBeat: () => void;
  readonly #threads: (RunningThread | undefined)[] = [];
  #config: ServeConfig;
  #tls: ServerTls | undefined;
  /** Where the first one listens, and the others with it. */
  #first: Pick<Answering, "port" | "places"> = { port: 0, places: [] };
  #isStopping = false;

  private constructor(parts: ThreadParts) {
    this.#parts = parts;
    this.#config = parts.config;
    this.#tls = withTicketKeys(parts.tls);
    const { sharing } = parts;
    this.#endBeat = sharing.signals.start(nodeClock.now, sharing.beat);
    sharing.post = (state) => this.#post(state);
  }

  /**
   * Starts all threads, which then listen: one that listened before the others are prepared would get all
   * connections until then.
   * @throws {UsageError} if they cannot listen on an address
   */
  static async start(parts: ThreadParts): Promise<ThreadPool> {
    const pool = new ThreadPool(parts);
    try {
      const indices = Array.from({ length: parts.threads }, (_, index) => index);
      const [first, ...others] = await Promise.all(
        indices.map((index) => pool.#prepare(index, index === 0 ? parts.spawned : undefined)),
      );
      pool.#first = await pool.#listen(0, first!);
      pool.#config = withPorts(parts.config, pool.#first);
      await Promise.all(others.map((thread, index) => pool.#listen(index + 1, thread)));
      return pool;
    } catch (error) {
      await pool.stop(0);
      throw error;
    }
  }

  get port(): number {
    return this.#first.port;
  }

  get places(): readonly ListeningPlace[] {
    return this.#first.places;
  }

  /** How many run now. */
  get running(): number {
    return this.#threads.filter((thread) => thread !== undefined).length;
  }

  /** Posts a state to every thread; queries that come from now on are answered from it. */
  #post(state: ThreadState): void {
    for (const thread of this.#threads) thread?.post(state);
    this.#parts.sharing.signals.post();
  }

  renew(tls: ServerTls): void {
    this.#tls = withTicketKeys(tls);
    for (const thread of this.#threads) thread?.renew(this.#tls!);
  }

  async stop(grace: number): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#threads.map((thread) => thread?.stop(grace)));
    this.#endBeat();
  }

  async #prepare(index: number, spawned?: Worker): Promise<RunningThread> {
    const parts = { ...this.#parts, spawned, config: this.#config, tls: this.#tls };
    const thread = openThread(index, parts);
    this.#threads[index] = thread;
    await thread.prepare();
    return thread;
  }

  async #listen(index: number, thread: RunningThread): Promise<Pick<Answering, "port" | "places">> {
    const listening = await thread.listen(this.#config);
    void thread.exited.then(({ error, milliseconds }) => this.#ended(index, error, milliseconds));
    return listening;
  }

  /** Replaces a thread that ended although it should run. */
  #ended(index: number, err: unknown, milliseconds: number): void {
    const { shared, sharing, log } = this.#parts;
    this.#threads[index] = undefined;
    shared.clear(index);
    if (this.#isStopping) return;
    const message = "an answering thread ended and is replaced: its connections are lost";
    log("error", "thread-ended", message, { thread: index, err });
    sharing.replaced++;
    this.#replace(index, milliseconds > LONG_RUN ? 0 : PAUSE);
  }

  #replace(index: number, pause: number): void {
    const { log } = this.#parts;
    setTimeout(async () => {
      if (this.#isStopping) return;
      try {
        await this.#listen(index, await this.#prepare(index));
        log("info", "thread-replaced", "an answering thread is replaced", { thread: index });
      } catch (err) {
        void this.#threads[index]?.stop(0);
        this.#threads[index] = undefined;
        log("error", "thread-not-started", "an answering thread could not start", { thread: index, err });
        this.#replace(index, PAUSE);
      }
    }, pause);
  }
}

function withTicketKeys(tls: ServerTls | undefined): ServerTls | undefined {
  return tls && { ...tls, ticketKeys: new Uint8Array(randomBytes(TICKET_KEY_BYTES)) };
}

/** The addresses with the ports that the first thread listens on: they were 0 for any. */
function withPorts(config: ServeConfig, { port, places }: Pick<Answering, "port" | "places">): ServeConfig {
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

/**
 * Sockets that share ports would also share them with another gateway.
 * @throws {UsageError} if another program listens on an address
 */
async function checkFree({ listen: https, dns, dot }: ServeConfig): Promise<void> {
  const places: [string, ("dns" | "dot")?][] = [[https]];
  for (const { address } of dns.listen) places.push([address, "dns"]);
  for (const { address } of dot.listen) places.push([address, "dot"]);
  for (const [address, kind] of places) {
    const place = parseListenAddress(address);
    if (place.port === 0) continue;
    const server = createServer();
    await listen(server, { ...place, exclusive: true }).catch((error) => {
      throw listenFailure(error, place, kind);
    });
    await once(server.close(), "close");
  }
}
