import { createClient, ErrorReply } from "@redis/client";
import { messageOf, StoreError } from "../store-error.ts";
import type { Script } from "./scripts.ts";

/** Where Valkey or Redis is, and as whom to connect. */
export interface RedisAddress {
  /** `redis://` or `rediss://` (TLS), with host, port and database; a user and a password in it count where the fields below are absent. */
  readonly url: string;
  /** The ACL user. Default: that of the URL, else `default`. */
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Certificates in PEM of the authorities that sign the engine's. Default: those of Node. */
  readonly ca?: string | undefined;
}

type Client = ReturnType<typeof newClient>;

/** How long the engine may take for one command, in milliseconds; then the connection counts as dead. */
const MOST_WAIT = 5000;
/** The longest pause between two attempts to connect, in milliseconds. */
const MOST_PAUSE = 1000;

/**
 * A connection to the engine that is made again when it breaks. While there is none, commands fail at once. A command whose connection broke, or that took
 * too long, may have been carried out all the same, even later.
 */
export class RedisConnection {
  readonly #address: RedisAddress;
  #client: Client;
  /** What the last attempt to connect failed with. */
  #failure: unknown;
  #wasOpen = false;

  private constructor(address: RedisAddress) {
    this.#address = address;
    this.#client = this.#create();
  }

  /** @throws {StoreError} STORE_FAILED if the engine cannot be reached */
  static async open(address: RedisAddress): Promise<RedisConnection> {
    const connection = new RedisConnection(address);
    try {
      await connection.run((client) => client.connect());
    } catch (error) {
      connection.close();
      throw error;
    }
    connection.#wasOpen = true;
    return connection;
  }

  /**
   * Runs one command.
   * @throws {StoreError} STORE_FULL if the engine has no memory left, otherwise STORE_FAILED
   */
  async run<Reply>(command: (client: Client) => Promise<Reply>): Promise<Reply> {
    const client = this.#client;
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`no reply for ${MOST_WAIT / 1000} seconds`));
        this.#replace(client);
      }, MOST_WAIT);
    });
    try {
      return await Promise.race([command(client), tooLong]);
    } catch (error) {
      throw this.#describe(error);
    } finally {
      clearTimeout(timer);
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
    this.#client.destroy();
  }

  #create(): Client {
    const client = newClient(this.#address, (retries, cause) =>
      // The first attempt fails with its cause, so that a start says what is wrong.
      this.#wasOpen
        ? Math.min(50 * 2 ** Math.min(retries, 10), MOST_PAUSE) * (0.5 + Math.random() / 2)
        : cause,
    );
    client.on("error", (error: unknown) => {
      this.#failure = error;
    });
    client.on("ready", () => {
      this.#failure = undefined;
    });
    return client;
  }

  /** Drops a connection that is half open, which the system would keep for many minutes. */
  #replace(client: Client): void {
    if (client !== this.#client || !this.#wasOpen) return;
    client.destroy();
    this.#client = this.#create();
    this.#client.connect().catch((error: unknown) => {
      this.#failure = error;
    });
  }

  #describe(error: unknown): StoreError {
    const said = messageOf(error);
    if (error instanceof ErrorReply) {
      // The first word of an error reply is its code: OOM, READONLY, NOPERM, LOADING, MISCONF.
      if (said.startsWith("OOM"))
        return new StoreError(
          "STORE_FULL",
          "Valkey or Redis has no memory left (OOM): nothing can be stored until there is room",
        );
      return failed(said);
    }
    const cause = this.#client.isReady ? error : (this.#failure ?? error);
    const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
    return failed(code ?? messageOf(cause));
  }
}

function failed(reason: string): StoreError {
  return new StoreError(
    "STORE_FAILED",
    `Valkey or Redis does not store (${reason}): nothing can be stored until it works`,
  );
}

function newClient(
  { url, username, password, ca }: RedisAddress,
  reconnectStrategy: (retries: number, cause: Error) => number | Error,
) {
  const isSecure = new URL(url).protocol === "rediss:";
  const common = { connectTimeout: MOST_WAIT, reconnectStrategy };
  return createClient({
    ...{ url, RESP: 2, disableOfflineQueue: true, disableClientInfo: true },
    maintNotifications: "disabled",
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    socket: isSecure ? { ...common, tls: true, ...(ca !== undefined && { ca }) } : common,
  });
}
