import type { RedisAddress } from "../../../src/store/redis/connection.ts";
import { RedisLog } from "../../../src/store/redis/redis-log.ts";
import type { LogChange, SharedLog } from "../../../src/store/shared/shared-log.ts";
import type { StoreWarning } from "../../../src/store/store-error.ts";
import { metaOf, patchTo, snapshotOf, wholeOf } from "../../store/changes.ts";
import { type Redis, startRedis } from "../servers/redis.ts";

/** A log in Redis, opened once, with its warnings. */
export interface OpenedLog {
  readonly log: SharedLog;
  readonly warnings: readonly StoreWarning[];
  readonly prefix: string;
}

/** Logs on one redis-server, each under a prefix of its own unless it is given. */
export class RedisLogs {
  readonly redis: Redis;
  #prefixes = 0;

  private constructor(redis: Redis) {
    this.redis = redis;
  }

  static async start(directives: readonly string[] = []): Promise<RedisLogs> {
    return new RedisLogs(await startRedis(directives));
  }

  newPrefix(): string {
    return `test-${++this.#prefixes}`;
  }

  async open(prefix = this.newPrefix(), address: Partial<RedisAddress> = {}): Promise<OpenedLog> {
    const warnings: StoreWarning[] = [];
    const log = await RedisLog.open({ url: this.redis.url, ...address }, prefix, (warning) =>
      warnings.push(warning),
    );
    return { log, warnings, prefix };
  }

  /** Opens a log that has cluster "west" at generation 1. */
  async withWest(prefix?: string): Promise<OpenedLog & { readonly base: string }> {
    const opened = await this.open(prefix);
    const { id } = await opened.log.append({ clusterId: "west", base: undefined, change: whole(1) });
    return { ...opened, base: id };
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

/** A whole state of cluster "west". */
export function whole(generation: number): LogChange {
  return wholeOf(snapshotOf("west", generation), metaOf(generation)) as LogChange;
}

/** The change of "west" from one generation to another. */
export function patch(from: number, to = from + 1): LogChange {
  return patchTo(snapshotOf("west", from), snapshotOf("west", to), metaOf(to)) as LogChange;
}
