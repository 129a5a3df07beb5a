import { messageOf } from "../../../database/store-error.ts";
import type { Endpoint, RedisAddress, SentinelAddress } from "./address.ts";
import { type Client, type ClientOptions, connectTo, within } from "./client.ts";

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
    ...{ nodes: nodes.length, isWatched: false },
    find: () => Promise.resolve(nodes[calls++ % nodes.length]!),
    close() {},
  };
}

/** Asks Sentinels for the master. The one that replied is kept, and asked first. */
export class SentinelFinder implements Finder {
  readonly nodes = 1;
  readonly isWatched = true;
  readonly #name: string;
  /** Those that replied last come first. */
  readonly #nodes: Endpoint[];
  readonly #options: ClientOptions;
  #client: Client | undefined;
  #search: Promise<Endpoint> | undefined;
  #isClosed = false;

  constructor({ name, nodes, login, tls }: SentinelAddress, { ca, identity }: RedisAddress) {
    this.#name = name;
    this.#nodes = [...nodes];
    this.#options = { ...login, tls, ca, identity };
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
    let reason = "";
    for (const node of [...this.#nodes]) {
      try {
        const client = await connectTo(node, this.#options, MOST_WAIT, (lost) => {
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
    const command = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.#name];
    const found = await within(MOST_WAIT, client.sendCommand<[string, string] | null>(command));
    if (found === null) throw new Error(`it watches no servers with the name ${this.#name}`);
    return { host: found[0], port: Number(found[1]) };
  }
}
