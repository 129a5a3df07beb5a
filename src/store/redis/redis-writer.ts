import { StoreError } from "../store-error.ts";
import { type RedisAddress, RedisConnection } from "./connection.ts";
import { refuseEviction } from "./eviction.ts";
import { CLAIM, type Script } from "./scripts.ts";

/** The version of what is kept in the engine. Another one is not read. */
export const FORMAT_VERSION = "1";

/** The names of all keys. The braces are a hash tag: in a cluster of the engine one node has all of them. */
export class RedisKeys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = `{${prefix}}`;
  }

  /** A hash: the format version, and the number of the gateway that writes. */
  get writer(): string {
    return `${this.#prefix}:writer`;
  }

  /** A hash: the state of each cluster, by its id. */
  get clusters(): string {
    return `${this.#prefix}:clusters`;
  }

  /** A set: keys of entries that are being written and do not count yet. */
  get staged(): string {
    return `${this.#prefix}:staged`;
  }

  /** A hash: the entries of a cluster. */
  entries(clusterId: string, version: string): string {
    return `${this.#prefix}:entries:${clusterId}:${version}`;
  }

  /** A hash: records by their names. */
  records(table: string): string {
    return `${this.#prefix}:${table}`;
  }
}

/**
 * The right to write what is kept under a prefix. The gateway that claimed it last has it: writes of those before fail, so that two gateways never mix what they
 * were pushed.
 */
export class RedisWriter {
  readonly connection: RedisConnection;
  readonly keys: RedisKeys;
  /** Of this claim: no other has the same. */
  readonly number: string;

  private constructor(connection: RedisConnection, keys: RedisKeys, number: string) {
    this.connection = connection;
    this.keys = keys;
    this.number = number;
  }

  /**
   * Connects, and claims the right.
   * @throws {StoreError} STORE_FAILED if the engine cannot be reached, may forget what is kept, or has it in another format
   */
  static async open(address: RedisAddress, prefix: string): Promise<RedisWriter> {
    const connection = await RedisConnection.open(address);
    try {
      await refuseEviction(connection);
      const keys = new RedisKeys(prefix);
      const claimed = String(await connection.script(CLAIM, [keys.writer], [FORMAT_VERSION]));
      if (claimed.startsWith("format "))
        throw new StoreError(
          "STORE_FAILED",
          `what is kept there has the format version ${claimed.slice("format ".length)}, and this release reads ${FORMAT_VERSION}: choose another prefix (store.prefix), or the release that wrote it`,
        );
      return new RedisWriter(connection, keys, claimed);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /**
   * Runs a script that begins with the writer's number.
   * @returns false where what it builds on has changed
   * @throws {StoreError} STORE_FULL, STORE_FAILED
   */
  async write(script: Script, keys: readonly string[], values: readonly string[]): Promise<boolean> {
    const { writer } = this.keys;
    const result = await this.connection.script(
      script,
      [writer, ...keys],
      [this.number, FORMAT_VERSION, ...values],
    );
    if (result === "taken")
      throw new StoreError(
        "STORE_FAILED",
        "another gateway has taken over what is kept in Valkey or Redis: stop this one, or give it a prefix of its own (store.prefix)",
      );
    return result !== "changed";
  }
}
