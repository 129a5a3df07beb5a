import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readServeConfig } from "../../../src/hosts/node/config.ts";
import { startGateway } from "../../../src/hosts/node/gateway-host.ts";
import { createLogger } from "../../../src/hosts/node/process.ts";
import { runCli } from "../harness/cli.ts";
import { type Redis, startRedis } from "../servers/redis.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const PASSWORD = "correct-horse";
const stateDir = join(temporaryFolder("gateway-on-redis"), "unused");
let redis: Redis;

beforeAll(async () => {
  redis = await startRedis({}, PASSWORD);
});

afterAll(() => redis?.process.stop());

test("an engine that cannot be used ends the start with its address and the cause, without the password", async () => {
  const store = "redis://user:hidden@127.0.0.1:1/3";
  const nobody = await runCli([
    "serve",
    `--store=${store}`,
    `--state-dir=${stateDir}`,
    "--listen=127.0.0.1:0",
  ]);
  expect([nobody.code, nobody.stderr]).toEqual([
    2,
    expect.stringMatching(/the store redis:\/\/127\.0\.0\.1:1\/3: .*ECONNREFUSED/),
  ]);
  expect(nobody.stderr + nobody.stdout).not.toContain("hidden");
});

test("a start says what the engine lacks", async () => {
  const start = async (store: string) => {
    const config = readServeConfig({ store, stateDir, listen: "127.0.0.1:0", tls: false, threads: "0" });
    return startGateway(config, createLogger("serve", "error"));
  };
  const own = `redis://:${PASSWORD}@127.0.0.1:${redis.port}`;
  await expect(start(redis.url)).rejects.toThrow("NOAUTH");
  await redis.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  await expect(start(own)).rejects.toThrow("noeviction");
  await redis.run("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await redis.run("ACL", "SETUSER", "limited", "on", ">limited", "~other*", "+@all");
  await expect(start(`redis://limited:limited@127.0.0.1:${redis.port}`)).rejects.toThrow("NOPERM");
  await redis.run("HSET", "{clusterset-doh}:head", "format", "3");
  await expect(start(own)).rejects.toThrow("format version 3");
  await redis.run("DEL", "{clusterset-doh}:head");
  await expect(start("http://127.0.0.1")).rejects.toThrow("store.url: must be redis://");
});
