import { createHash } from "node:crypto";
import { createClient, ErrorReply } from "@redis/client";
import { messageOf, StoreError } from "../database/store-error.ts";
import type { Endpoint, Login, RedisAddress, SentinelAddress } from "./redis-address.ts";

/** How to connect to a server. */
export interface ClientOptions extends Login, Pick<RedisAddress, "ca" | "identity"> {
  readonly tls: boolean;
  readonly database?: number | undefined;
}

/** A connection to one server, which is not made again when it breaks. */
export type Client = ReturnType<typeof newClient>;

/**
 * Connects to a server.
 * @param mostWait how long it may take, in milliseconds
 * @param onLost called once if the connection breaks after it was made
 */
export async function connectTo(
  endpoint: Endpoint,
  options: ClientOptions,
  mostWait: number,
  onLost: (client: Client, cause: unknown) => void,
): Promise<Client> {
  const client = newClient(endpoint, options, mostWait);
  // Every error comes with the end of the connection, and with the commands that wait for replies.
  client.on("error", () => {});
  try {
    await within(mostWait, client.connect());
  } catch (error) {
    client.destroy();
    throw error;
  }
  client.once("terminated", (cause: unknown) => onLost(client, cause));
  return client;
}

/** Waits for a reply. @param mostWait milliseconds @throws {Error} `no reply for … seconds` */
export async function within<Reply>(mostWait: number, reply: Promise<Reply>): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoReply(mostWait)), mostWait);
  });
  try {
    return await Promise.race([reply, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

/** A server that does not reply, while the system takes the connection for good. */
export class NoReply extends Error {
  constructor(mostWait: number) {
    super(`no reply for ${mostWait / 1000} seconds`);
  }
}

function newClient(
  { host, port }: Endpoint,
  { tls, username, password, database, ca, identity }: ClientOptions,
  connectTimeout: number,
) {
  const common = { host, port, connectTimeout, reconnectStrategy: false as const };
  const trust = { ...(ca !== undefined && { ca }), ...identity };
  return createClient({
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && database !== 0 && { database }),
    socket: tls ? { ...common, tls: true, ...trust } : common,
  });
}

/** Finds the server to connect to. */
export interface Finder {
  /** How many calls of `find` try every node once. */
  readonly nodes: number;
  /** @throws {Error} if no node knows one */
  find(): Promise<Endpoint>;
  /** Whether `find` knows when another server takes the writes, without a command that fails. */
  readonly isWatched: boolean;
  close(): void;
}

/** How long a Sentinel may take to connect, and for a reply, in milliseconds: there are others. */
const MOST_WAIT = 2000;

/** Returns the nodes one after the other. */
export function createNodeFinder(nodes: readonly Endpoint[]): Finder {
  let calls = 0;
  return {
    nodes: nodes.length,
    isWatched: false,
    find: () => Promise.resolve(nodes[calls++ % nodes.length]!),
    close() {},
  };
}

/** Asks Sentinels for the master. The one that replied is kept, and tried first. */
export class SentinelFinder implements Finder {
  readonly nodes = 1;
  readonly isWatched = true;
  readonly #sentinel: SentinelAddress;
  readonly #trust: Pick<RedisAddress, "ca" | "identity">;
  /** Those that replied last come first. */
  readonly #nodes: Endpoint[];
  #client: Client | undefined;
  #search: Promise<Endpoint> | undefined;
  #isClosed = false;

  constructor(sentinel: SentinelAddress, trust: Pick<RedisAddress, "ca" | "identity">) {
    this.#sentinel = sentinel;
    this.#trust = trust;
    this.#nodes = [...sentinel.nodes];
  }

  find(): Promise<Endpoint> {
    this.#search ??= this.#askAll().finally(() => {
      this.#search = undefined;
    });
    return this.#search;
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  async #askAll(): Promise<Endpoint> {
    if (this.#client !== undefined) {
      const found = await this.#ask(this.#client).catch(() => undefined);
      if (found !== undefined) return found;
      this.#drop();
    }
    const { login, tls } = this.#sentinel;
    const { ca, identity } = this.#trust;
    let reason = "";
    for (const node of [...this.#nodes]) {
      try {
        const client = await connectTo(node, { ...login, tls, ca, identity }, MOST_WAIT, (lost) => {
          if (lost === this.#client) this.#client = undefined;
        });
        this.#client = client;
        const found = await this.#ask(client);
        if (this.#isClosed) this.#drop();
        this.#nodes.splice(this.#nodes.indexOf(node), 1);
        this.#nodes.unshift(node);
        return found;
      } catch (error) {
        this.#drop();
        reason = `Sentinel ${node.host}:${node.port}: ${(error as NodeJS.ErrnoException).code ?? messageOf(error)}`;
      }
    }
    throw new Error(reason);
  }

  #drop(): void {
    this.#client?.destroy();
    this.#client = undefined;
  }

  async #ask(client: Client): Promise<Endpoint> {
    const { name } = this.#sentinel;
    const command = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name];
    const found = await within(MOST_WAIT, client.sendCommand<[string, string] | null>(command));
    if (found === null) throw new Error(`it watches no servers with the name ${name}`);
    return { host: found[0], port: Number(found[1]) };
  }
}

/**
 * What a server replies that does not take writes now, or not any more. `UNBLOCKED` ends a command that
 * blocks when its server becomes a replica; `CLUSTERDOWN` comes from a node that is cut off from the others,
 * too.
 */
const NOT_THE_MASTER = /^(?:READONLY|MASTERDOWN|UNBLOCKED|CLUSTERDOWN) /;

/** Whether another server may take what this one did not: then a new connection finds it. */
export function isNotTheMaster(error: unknown): boolean {
  return error instanceof ErrorReply && NOT_THE_MASTER.test(error.message);
}

/**
 * The node of a Cluster that has the keys, of a reply `MOVED <slot> <host>:<port>`; then nothing was carried
 * out. Undefined for other errors.
 * @param from the node that replied: a reply without a host means that one
 */
export function movedTo(error: unknown, from: Endpoint): Endpoint | undefined {
  if (!(error instanceof ErrorReply)) return undefined;
  const [, host = "", port] = /^MOVED \d+ (.*):(\d+)/.exec(error.message) ?? [];
  if (port === undefined) return undefined;
  return { host: host === "" || host === "?" ? from.host : host, port: Number(port) };
}

/** The first word of an error reply is its code: OOM, READONLY, NOPERM, LOADING, MISCONF, TRYAGAIN. */
export function describeReply(error: ErrorReply): StoreError {
  const said = messageOf(error);
  if (!said.startsWith("OOM")) return engineFailed(said);
  return new StoreError(
    "STORE_FULL",
    "Valkey or Redis has no memory left (OOM): nothing can be stored until there is room",
  );
}

/** @param reason the system's code, or a sentence */
export function engineFailed(reason: string): StoreError {
  return new StoreError(
    "STORE_FAILED",
    `Valkey or Redis does not store (${reason}): nothing can be stored until it works`,
  );
}

/** A Lua script, which the engine runs at once: nothing happens between its commands. */
export interface Script {
  readonly text: string;
  /** By which EVALSHA knows it. */
  readonly sha1: string;
}

/** A script of a text. */
export function script(text: string): Script {
  return { text, sha1: createHash("sha1").update(text).digest("hex") };
}
