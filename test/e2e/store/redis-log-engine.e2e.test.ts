import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LogChange, SharedLog } from "../../../src/store/shared/shared-log.ts";
import { makeAuthority, makeServer } from "../../hosts/client-certificates.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { metaOf, wholeOf } from "../../store/changes.ts";
import { Replica } from "../../store/shared/replica.ts";
import { freePort } from "../servers/ports.ts";
import { startRedis } from "../servers/redis.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { patch, RedisLogs, whole } from "./redis-logs.ts";

let logs: RedisLogs;

beforeAll(async () => {
  logs = await RedisLogs.start();
});

afterAll(() => logs?.redis.process.stop());

const clusterIds = async (log: SharedLog) => Object.keys((await Replica.start(log)).state.clusters);

test("all keys are under one hash tag; those of entries go when they are replaced, and when their cluster leaves", async () => {
  const { log, base, prefix } = await logs.withWest();
  const first = await logs.keys(prefix);
  expect(first).toEqual(["clusters", expect.stringMatching(/^entries:west:/), "head", "log"]);
  const sight = { seenAt: 1, generation: 5, exports: {}, imports: { "shop/web": 1 } };
  const second = await log.append({ clusterId: "west", base, change: whole(5), sight });
  const then = await logs.keys(prefix);
  expect(then).toEqual(["clusters", expect.stringMatching(/^entries:west:/), "head", "log", "sights:west"]);
  expect(then[1]).not.toBe(first[1]);
  expect(await logs.onKey(prefix, "TTL", then[1]!)).toBe(-1);
  await log.append({ clusterId: "west", base: second.id, change: { kind: "left", generation: 9 } });
  expect(await logs.keys(prefix)).toEqual(["clusters", "head", "left", "log", "sights:west"]);
  await log.close();
});

test("a log of another prefix is not seen", async () => {
  const { log } = await logs.withWest();
  const other = await logs.open();
  expect(await clusterIds(other.log)).toEqual([]);
  await Promise.all([log.close(), other.log.close()]);
});

test("entries of a whole state that its gateway did not finish do not count, and the engine removes them by itself", async () => {
  const { log, base, prefix } = await logs.withWest();
  const before = await logs.keys(prefix);
  const lines = (function* () {
    yield* (whole(2) as Extract<LogChange, { kind: "snapshot" }>).lines;
    yield ["findings", "shop/web", { text: "x".repeat(200_000) }] as never;
    yield ["findings", "shop/db", {}] as never;
    throw new Error("the gateway dies");
  })();
  const torn = { kind: "snapshot", lines, meta: metaOf(2) } as const;
  await expect(log.append({ clusterId: "west", base, change: torn })).rejects.toThrow("dies");
  const staged = (await logs.keys(prefix)).filter((key) => !before.includes(key));
  expect(staged).toHaveLength(1);
  expect(await logs.onKey(prefix, "TTL", staged[0]!)).toBeGreaterThan(0);
  await log.append({ clusterId: "west", base, change: patch(1) });
  await log.close();
});

test("a service of 20,000 endpoints comes back as it was pushed", async () => {
  const { log, base, prefix } = await logs.withWest();
  const large = shopSnapshot("west", 20_000);
  await log.append({ clusterId: "west", base, change: wholeOf(large, metaOf(2)) as LogChange });
  const late = await Replica.start((await logs.open(prefix)).log);
  expect(late.state.clusters.west?.values).toMatchObject({ "exports/shop/web": large.exports["shop/web"] });
  await Promise.all([log.close(), late.log.close()]);
});

test("the log is trimmed by its entries, and never the newest", async () => {
  const { log, prefix } = await logs.withWest();
  const fill = `
for position = 2, 10400 do redis.call('XADD', KEYS[2], position .. '-0', 'id', position .. '-x', 'before', (position - 1) .. '-x', 'entry', '{}') end
redis.call('HSET', KEYS[1], 'position', 10400, 'id', '10400-x')`;
  await logs.redis.run("EVAL", fill, "2", `{${prefix}}:head`, `{${prefix}}:log`);
  await log.append({ clusterId: "east", base: undefined, change: whole(1) });
  const length = Number(await logs.onKey(prefix, "XLEN", "log"));
  expect(length).toBeGreaterThanOrEqual(10_000);
  expect(length).toBeLessThan(10_200);
  await log.close();
});

test("the log is trimmed by its bytes", async () => {
  const { log, base: first, prefix } = await logs.withWest();
  const large = "x".repeat(250_000);
  let base = first;
  for (let generation = 2; generation <= 300; generation++) {
    const lines = [["findings", "shop/web", { text: large }]] as never;
    const change = { kind: "patch", lines, meta: metaOf(generation) } as const;
    ({ id: base } = await log.append({ clusterId: "west", base, change }));
  }
  const length = Number(await logs.onKey(prefix, "XLEN", "log"));
  // 32 MiB have 134 of them.
  expect(length).toBeGreaterThanOrEqual(134);
  expect(length).toBeLessThan(2 * 135 + 1);
  await log.close();
});

test("an engine that may evict keys is not used, nor one that nobody listens at", async () => {
  const { run } = logs.redis;
  await run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  await expect(logs.open()).rejects.toThrow(/allkeys-lru.*set maxmemory-policy to noeviction/);
  await run("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await expect(logs.open("x", { url: "redis://127.0.0.1:1" })).rejects.toThrow(/ECONNREFUSED/);
});

test("a log of another format version is not opened, and not changed by gateways that have it open", async () => {
  const { log, base, prefix } = await logs.withWest();
  await logs.onKey(prefix, "HSET", "head", "format", "2");
  const other = { code: "STORE_FAILED", message: expect.stringContaining("format version 2") };
  await expect(logs.open(prefix)).rejects.toMatchObject(other);
  await expect(log.append({ clusterId: "west", base, change: patch(1) })).rejects.toMatchObject(other);
  await expect(log.decide({ "10.0.0.1": ["a"] }, {}, 0)).rejects.toMatchObject(other);
  expect(await logs.onKey(prefix, "XLEN", "log")).toBe(1);
  await log.close();
});

test("an engine without memory takes no change, and takes changes again when it has some", async () => {
  const { log, base, prefix } = await logs.withWest();
  await logs.redis.run("CONFIG", "SET", "maxmemory", "1");
  for (const change of [patch(1), { kind: "lease", meta: metaOf(1, 9) }, whole(2)] as LogChange[])
    await expect(log.append({ clusterId: "west", base, change })).rejects.toMatchObject({
      code: "STORE_FULL",
    });
  await logs.redis.run("CONFIG", "SET", "maxmemory", "0");
  expect(await logs.onKey(prefix, "XLEN", "log")).toBe(1);
  await log.append({ clusterId: "west", base, change: patch(1) });
  await log.close();
});

test("an ACL user needs the keys of the prefix alone", async () => {
  const rights = "+@read +@write +@connection +@scripting +@transaction -@dangerous +info +time";
  const user = ["gateway", "on", ">secret", "resetkeys", "~{acl}:*", ...rights.split(" ")];
  await logs.redis.run("ACL", "SETUSER", ...user);
  const address = { username: "gateway", password: "secret" };
  const { log } = await logs.open("acl", address);
  const replica = await Replica.start(log);
  const { id } = await log.append({ clusterId: "west", base: undefined, change: whole(1) });
  const second = await log.append({ clusterId: "west", base: id, change: patch(1) });
  await log.decide({ "10.0.0.1": ["west"] }, {}, 0);
  await log.append({ clusterId: "west", base: second.id, change: { kind: "left", generation: 9 } });
  await replica.until(({ position }) => position === 4);
  expect(replica.connections).toEqual([]);
  expect(await clusterIds((await logs.open("acl", address)).log)).toEqual(["west"]);
  await log.close();
  await expect(logs.open("other", address)).rejects.toThrow(/NOPERM/);
  await expect(logs.open("acl", { ...address, password: "wrong" })).rejects.toThrow(/WRONGPASS/);
});

test("an engine with TLS is believed only with a certificate of the configured authority", async () => {
  const folder = temporaryFolder("redis-tls");
  const authority = await makeAuthority("engines");
  const server = await makeServer(authority, [], ["127.0.0.1"]);
  const files = { "authority.crt": authority.cert, "server.crt": server.cert, "server.key": server.key };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const port = await freePort();
  const secure = await startRedis([
    ...["--tls-port", String(port), "--tls-auth-clients", "no"],
    ...["--tls-ca-cert-file", join(folder, "authority.crt")],
    ...["--tls-cert-file", join(folder, "server.crt"), "--tls-key-file", join(folder, "server.key")],
  ]);
  const url = `rediss://127.0.0.1:${port}`;
  const { log } = await logs.open("tls", { url, ca: authority.cert });
  const replica = await Replica.start(log);
  await log.append({ clusterId: "west", base: undefined, change: whole(1) });
  await replica.until(({ position }) => position === 1);
  await log.close();
  await expect(logs.open("tls", { url })).rejects.toThrow(/SELF_SIGNED_CERT_IN_CHAIN/);
  await secure.process.stop();
});
