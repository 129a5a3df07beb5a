import { rmSync } from "node:fs";
import { join } from "node:path";
import { FaultProxy } from "../../../servers/network.ts";
import { type Redis, startRedis } from "../../../servers/redis.ts";

/** How a gateway reaches an engine. */
export interface EngineLink {
  /** The key `store` of its config file. */
  readonly store: Record<string, unknown>;
  /** What it connects to, if that is a proxy. */
  readonly link?: FaultProxy;
}

/** A redis-server that every write is on disk of before it replies, and that fails on demand. */
export class Engine {
  readonly redis: Redis;

  private constructor(redis: Redis) {
    this.redis = redis;
  }

  static async start(): Promise<Engine> {
    return new Engine(await startRedis());
  }

  /** A proxy in front of it, for one gateway. */
  async connect(): Promise<EngineLink> {
    const link = await FaultProxy.start(this.redis.port);
    return { link, store: { url: `redis://127.0.0.1:${link.port}` } };
  }

  /** `kill -9`. */
  kill(): Promise<void> {
    return this.redis.process.kill();
  }

  /** Starts it again, with what it has on disk. */
  startAgain(): Promise<void> {
    return this.redis.process.start();
  }

  /** Removes what a killed engine has on disk. */
  loseDisk(): void {
    rmSync(join(this.redis.folder, "appendonlydir"), { recursive: true, force: true });
  }

  /** SIGSTOP. */
  halt(): void {
    this.redis.process.signal("SIGSTOP");
  }

  /** SIGCONT. */
  resume(): void {
    this.redis.process.signal("SIGCONT");
  }

  async loseData(): Promise<void> {
    await this.redis.run("FLUSHALL");
  }

  /** Entries of a log, newest first. @param prefix of its keys */
  async log(prefix: string, count: number): Promise<string[]> {
    const entries = await this.redis.run("XREVRANGE", `{${prefix}}:log`, "+", "-", "COUNT", String(count));
    return (entries as [string, string[]][]).map(([id, fields]) => `${id} ${fields.at(-1)}`);
  }

  /** A figure of `INFO`. */
  async figure(name: string): Promise<number> {
    const [, value] = new RegExp(`^${name}:(\\d+)`, "m").exec(String(await this.redis.run("INFO"))) ?? [];
    if (value === undefined) throw new Error(`the engine has no figure ${name}`);
    return Number(value);
  }

  stop(): Promise<void> {
    return this.redis.process.kill();
  }
}
