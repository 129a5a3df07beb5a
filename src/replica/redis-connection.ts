import { setTimeout as sleep } from "node:timers/promises";
import { ErrorReply } from "@redis/client";
import { messageOf, StoreError } from "../database/store-error.ts";
import { type Endpoint, type RedisAddress, readUrl } from "./redis-address.ts";
import {
  type Client,
  type ClientOptions,
  connectTo,
  createNodeFinder,
  describeReply,
  engineFailed,
  type Finder,
  isNotTheMaster,
  movedTo,
  NoReply,
  type Script,
  SentinelFinder,
  within,
} from "./redis-servers.ts";

/** How long the engine may take for one command, in milliseconds; then the connection counts as dead. */
const MOST_WAIT = 5000;
/** The longest pause between two attempts to connect, in milliseconds. */
const MOST_PAUSE = 1000;
/**
 * How often the gateway requests the master from Sentinels, in milliseconds: for some seconds the replaced
 * one may take writes that will be lost.
 */
const WATCH_EVERY = 250;
/** How many nodes of a Cluster may pass on one command. */
const MOST_MOVES = 5;

/**
 * A connection to the server that takes writes: the only one, the master that Sentinels report, or the node
 * of a Cluster that has the keys. All keys must have one hash tag. When the connection breaks, or another
 * server takes the writes, it is made again. While there is none, commands fail at once. A command whose
 * connection broke, or that took too long, may have been carried out all the same, even later.
 */
export class RedisConnection {
  readonly #finder: Finder;
  readonly #address: RedisAddress;
  /** Where `#client` is connected to. */
  #endpoint: Endpoint | undefined;
  /** Undefined while there is no connection. */
  #client: Client | undefined;
  #made = 0;
  #moving: Promise<void> | undefined;
  #watch: NodeJS.Timeout | undefined;
  /** Why there is no connection. */
  #failure: unknown = new Error("the connection is closed");
  readonly #closed = new AbortController();

  private constructor(address: RedisAddress) {
    this.#finder = finderOf(address);
    this.#address = address;
  }

  /** @throws {StoreError} STORE_FAILED if the engine cannot be reached, or may evict keys */
  static async open(address: RedisAddress): Promise<RedisConnection> {
    const connection = new RedisConnection(address);
    for (let left = connection.#finder.nodes; ; left--) {
      try {
        await connection.#connect();
        return connection;
      } catch (error) {
        // The first attempt fails with its cause, so that a start says what is wrong.
        if (left > 1) continue;
        connection.close();
        throw describe(error);
      }
    }
  }

  /**
   * How many connections were made: what is read over two of them may come from two servers, of which one
   * lost what the other has.
   */
  get made(): number {
    return this.#made;
  }

  /**
   * Runs one command. Where a node of a Cluster passes it on, it is called again.
   * @throws {StoreError} STORE_FULL if the engine has no memory left, otherwise STORE_FAILED
   */
  async run<Reply>(command: (client: Client) => Promise<Reply>): Promise<Reply> {
    for (let moves = 0; ; moves++) {
      const client = this.#client;
      if (client === undefined) throw describe(this.#failure);
      try {
        return await within(MOST_WAIT, command(client));
      } catch (error) {
        const owner = moves < MOST_MOVES ? movedTo(error, this.#endpoint!) : undefined;
        if (owner !== undefined) {
          await this.#move(client, owner);
          continue;
        }
        if (error instanceof NoReply || isNotTheMaster(error)) this.#drop(client, error);
        throw describe(error instanceof ErrorReply || client === this.#client ? error : this.#failure);
      }
    }
  }

  /** Runs a script, by its hash if the engine knows it. @throws {StoreError} as `run` */
  script({ text, sha1 }: Script, keys: string[], values: string[]): Promise<unknown> {
    const options = { keys, arguments: values };
    return this.run((client) =>
      client.evalSha(sha1, options).catch((error: unknown) => {
        if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
        return client.eval(text, options);
      }),
    );
  }

  close(): void {
    this.#closed.abort();
    clearInterval(this.#watch);
    this.#finder.close();
    this.#client?.destroy();
    this.#client = undefined;
    this.#failure = new Error("the connection is closed");
  }

  async #connect(): Promise<void> {
    await this.#connectTo(await this.#finder.find());
    if (!this.#finder.isWatched || this.#watch !== undefined || this.#closed.signal.aborted) return;
    this.#watch = setInterval(() => void this.#checkMaster(), WATCH_EVERY);
    this.#watch.unref();
  }

  async #connectTo(endpoint: Endpoint): Promise<void> {
    const client = await connectTo(endpoint, optionsOf(this.#address), MOST_WAIT, (lost, cause) =>
      this.#drop(lost, cause),
    );
    try {
      await within(MOST_WAIT, this.#verify(client, endpoint));
      this.#closed.signal.throwIfAborted();
    } catch (error) {
      client.destroy();
      throw error;
    }
    // Only a node that passed a command on is still connected here; it may have to reply to others yet.
    this.#client?.close().catch(() => {});
    this.#client = client;
    this.#made++;
    this.#endpoint = endpoint;
  }

  async #verify(client: Client, { host, port }: Endpoint): Promise<void> {
    // A server that is halted, that reads its data yet, or that demands a certificate, accepts the
    // connection.
    await client.ping();
    refuseEviction(await client.info("memory"));
    // For a while after a failover Sentinels may report the old master, which is a replica by then.
    if (this.#finder.isWatched && !/^role:master/m.test(await client.info("replication")))
      throw new Error(`${host}:${port} is a replica`);
  }

  /** Connects to the node that has the keys; several commands may have come to the wrong one. */
  async #move(from: Client, owner: Endpoint): Promise<void> {
    if (from !== this.#client) return;
    this.#moving ??= this.#connectTo(owner)
      .catch((error: unknown) => this.#drop(from, error))
      .finally(() => {
        this.#moving = undefined;
      });
    await this.#moving;
  }

  /** Ends a connection that is of no more use, which may be half open, and makes another. */
  #drop(client: Client, cause: unknown): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#failure = cause;
    client.destroy();
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#closed;
    for (let retries = 0; !signal.aborted; retries++) {
      try {
        return await this.#connect();
      } catch (error) {
        if (signal.aborted) return;
        this.#failure = error;
      }
      const pause = Math.min(50 * 2 ** Math.min(retries, 10), MOST_PAUSE) * (0.5 + Math.random() / 2);
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }

  async #checkMaster(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    // While no Sentinel replies, the master is what it was.
    const master = await this.#finder.find().catch(() => undefined);
    const { host, port } = this.#endpoint!;
    if (master === undefined || (master.host === host && master.port === port)) return;
    this.#drop(client, new Error(`Sentinel replaced the master ${host}:${port}`));
  }
}

function finderOf(address: RedisAddress): Finder {
  const { url, sentinel, cluster } = address;
  if (sentinel !== undefined) return new SentinelFinder(sentinel, address);
  return createNodeFinder(cluster?.nodes ?? [readUrl(url!).endpoint]);
}

function optionsOf({
  url,
  sentinel,
  cluster,
  username,
  password,
  ca,
  identity,
}: RedisAddress): ClientOptions {
  const login = { username, password, ca, identity };
  if (sentinel !== undefined) return { ...login, tls: sentinel.tls, database: sentinel.database };
  if (cluster !== undefined) return { ...login, tls: cluster.tls };
  const { tls, database, ...named } = readUrl(url!);
  return {
    ca,
    identity,
    tls,
    database,
    username: username ?? named.username,
    password: password ?? named.password,
  };
}

function describe(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof ErrorReply) return describeReply(error);
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return engineFailed(code ?? messageOf(error));
}

/**
 * An engine that evicts keys would forget clusters without a word. `INFO` is there where providers do not
 * allow `CONFIG`.
 * @throws {StoreError} STORE_FAILED if it may evict keys
 */
function refuseEviction(memory: string): void {
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
  if (policy === "noeviction") return;
  throw new StoreError(
    "STORE_FAILED",
    `its maxmemory-policy is ${policy ?? "unknown"}, so it may drop what it keeps: set maxmemory-policy to noeviction`,
  );
}
