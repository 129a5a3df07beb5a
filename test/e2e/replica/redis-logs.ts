import type { RedisAddress } from "../../../src/replica/redis-address.ts";
import { RedisLog } from "../../../src/replica/redis-log.ts";
import { type Redis, startRedis } from "../servers/redis.ts";

/** Logs on one redis-server, each under a prefix of its own unless it is given. */
export class RedisLogs {
  readonly redis: Redis;
  #prefixes = 0;

  private constructor(redis: Redis) {
    this.redis = redis;
  }

  static async start(): Promise<RedisLogs> {
    return new RedisLogs(await startRedis());
  }

  newPrefix(): string {
    return `test-${++this.#prefixes}`;
  }

  open(prefix: string, address: Partial<RedisAddress> = {}): Promise<RedisLog> {
    return RedisLog.open({ url: this.redis.url, ...address }, prefix);
  }

  /** All keys under a prefix, without it. */
  async keys(prefix: string): Promise<string[]> {
    const keys = (await this.redis.run("KEYS", `{${prefix}}:*`)) as string[];
    return keys.map((key) => key.slice(`{${prefix}}:`.length)).sort();
  }

  /** Runs a command on a key under a prefix. */
  onKey(prefix: string, command: string, key: string, ...values: string[]): Promise<unknown> {
    return this.redis.run(command, `{${prefix}}:${key}`, ...values);
  }
}
