import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../harness/cli.ts";
import { type Redis, startRedis } from "../servers/redis.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const PASSWORD = "correct-horse";
const folder = temporaryFolder("gateway-on-redis");
let redis: Redis;

beforeAll(async () => {
  redis = await startRedis({}, PASSWORD);
});

afterAll(() => redis?.process.stop());

test("an engine that cannot be used ends the start with its address and the cause, without the password", async () => {
  const unused = join(folder, "unused");
  const start = (url: string) =>
    runCli(["serve", "--listen=127.0.0.1:0", "--no-tls", `--store=${url}`, `--state-dir=${unused}`]);
  const nobody = await start("redis://user:hidden@127.0.0.1:1/3");
  expect([nobody.code, nobody.stderr]).toEqual([
    2,
    expect.stringMatching(/the store redis:\/\/127\.0\.0\.1:1\/3: .*ECONNREFUSED/),
  ]);
  expect(nobody.stderr + nobody.stdout).not.toContain("hidden");
  const stranger = await start(redis.url);
  expect([stranger.code, stranger.stderr]).toEqual([2, expect.stringContaining("NOAUTH")]);
  await redis.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  const evicting = await start(`redis://:${PASSWORD}@127.0.0.1:${redis.port}`);
  expect([evicting.code, evicting.stderr]).toEqual([2, expect.stringContaining("noeviction")]);
  await redis.run("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await redis.run("ACL", "SETUSER", "limited", "on", ">limited", "~other*", "+@all");
  const limited = await start(`redis://limited:limited@127.0.0.1:${redis.port}`);
  expect([limited.code, limited.stderr]).toEqual([2, expect.stringContaining("NOPERM")]);
  await redis.run("HSET", "{clusterset-doh}:head", "format", "3");
  const newer = await start(`redis://:${PASSWORD}@127.0.0.1:${redis.port}`);
  expect([newer.code, newer.stderr]).toEqual([2, expect.stringContaining("format version 3")]);
  await redis.run("DEL", "{clusterset-doh}:head");
  const file = await start("http://127.0.0.1");
  expect([file.code, file.stderr]).toEqual([2, expect.stringContaining("store.url: must be redis://")]);
});
