import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisAddress } from "../../../src/store/redis/connection.ts";
import { openRedisStores } from "../../../src/store/redis/open-redis-stores.ts";
import type { StoreWarning } from "../../../src/store/store-error.ts";
import { makeAuthority, makeServer } from "../../hosts/client-certificates.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { listAll, loadAll, metaOf, patchTo, snapshotOf, wholeOf } from "../../store/changes.ts";
import { describeStore } from "../../store/contract.ts";
import { freePort } from "../servers/ports.ts";
import { type Redis, startRedis } from "../servers/redis.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

let redis: Redis;
let prefixes = 0;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis?.process.stop());

/** Opens what is kept under a prefix, with the warnings of the store. */
async function open(prefix: string, address: Partial<RedisAddress> = {}) {
  const warnings: StoreWarning[] = [];
  const stores = await openRedisStores({ url: redis.url, ...address }, prefix, (warning) =>
    warnings.push(warning),
  );
  return { ...stores, warnings };
}

const newPrefix = () => `test-${++prefixes}`;
const keysOf = async (prefix: string) => ((await redis.run("KEYS", `{${prefix}}:*`)) as string[]).sort();

/** A store with cluster "west" at generation 1. */
async function withWest(prefix = newPrefix()) {
  const opened = await open(prefix);
  await opened.store.keep("west", wholeOf(snapshotOf("west", 1), metaOf(1)));
  return { ...opened, prefix };
}

const toSecond = patchTo(snapshotOf("west", 1), snapshotOf("west", 2), metaOf(2));
const toThird = patchTo(snapshotOf("west", 2), snapshotOf("west", 3), metaOf(3));

describeStore("Redis", async () => {
  const prefix = newPrefix();
  const { store } = await open(prefix);
  return {
    store,
    async reopen(opened) {
      await opened.close();
      return (await open(prefix)).store;
    },
  };
});

describe("records in Redis", () => {
  test("come back after a restart, the newest of each name, of any length", async () => {
    const prefix = newPrefix();
    const { remembered, store } = await open(prefix);
    const long = { text: "é".repeat(1_200_000) };
    await remembered.keep("@founding", { at: 1 });
    await remembered.keep("exports@west", long);
    await remembered.keep("exports@south.eu", long);
    await remembered.keep("exports@south.eu", "short");
    await store.close();
    const again = await open(prefix);
    const { values, damage } = await again.remembered.load();
    expect([...values].sort()).toEqual([
      ["@founding", { at: 1 }],
      ["exports@south.eu", "short"],
      ["exports@west", long],
    ]);
    expect(damage).toEqual([]);
    await again.store.close();
  });
});

describe("a store in Redis", () => {
  test("has all keys under one hash tag, and none of a cluster that left", async () => {
    const { store, prefix } = await withWest();
    const before = await keysOf(prefix);
    expect(before).toHaveLength(3);
    await store.keep("west", wholeOf(snapshotOf("west", 5), metaOf(5)));
    expect(await keysOf(prefix)).toHaveLength(3);
    await store.remove("west");
    expect(await keysOf(prefix)).toEqual([`{${prefix}}:writer`]);
    await store.close();
  });

  test("of another prefix is not seen", async () => {
    const { store } = await withWest();
    const other = await open(newPrefix());
    expect(await listAll(other.store)).toEqual([]);
    await Promise.all([store.close(), other.store.close()]);
  });

  test("loads a service of 20,000 endpoints, which is pushed in several lines", async () => {
    const prefix = newPrefix();
    const { store } = await open(prefix);
    const snapshot = shopSnapshot("west");
    const [key, entry] = Object.entries(snapshot.exports)[0]!;
    const [group, endpoints] = Object.entries(entry.endpoints)[0]!;
    const members = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, at) => {
        const address = `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
        return [address, { address }];
      }),
    );
    const large = {
      ...snapshot,
      exports: {
        ...snapshot.exports,
        [key]: { ...entry, endpoints: { ...entry.endpoints, [group]: { ...endpoints, members } } },
      },
    };
    const whole = wholeOf(large, metaOf(1));
    await store.keep("west", whole);
    await store.close();
    const again = await open(prefix);
    expect(await loadAll(again.store)).toEqual({ west: { meta: metaOf(1), snapshot: large } });
    await again.store.close();
  });

  test("that was taken over writes nothing any more, and says so", async () => {
    const { store, remembered, prefix } = await withWest();
    const next = await open(prefix);
    const taken = { code: "STORE_FAILED", message: expect.stringContaining("another gateway") };
    await expect(store.keep("west", toSecond)).rejects.toMatchObject(taken);
    await expect(store.keep("west", wholeOf(snapshotOf("west", 9), metaOf(9)))).rejects.toMatchObject(taken);
    await expect(store.keep("west", { kind: "lease", meta: metaOf(1, 5) })).rejects.toMatchObject(taken);
    await expect(store.remove("west")).rejects.toMatchObject(taken);
    await expect(remembered.keep("@founding", 1)).rejects.toMatchObject(taken);
    expect(await loadAll(next.store)).toEqual({ west: { meta: metaOf(1), snapshot: snapshotOf("west", 1) } });
    await Promise.all([store.close(), next.store.close()]);
  });

  test("removes what a full push wrote that did not come to count", async () => {
    const { store, prefix } = await withWest();
    await redis.run("HSET", `{${prefix}}:entries:west:left`, "topology", "{}");
    await redis.run("SADD", `{${prefix}}:staged`, `{${prefix}}:entries:west:left`);
    await store.close();
    const again = await open(prefix);
    expect(Object.keys(await loadAll(again.store))).toEqual(["west"]);
    expect(await keysOf(prefix)).toHaveLength(3);
    await again.store.close();
  });

  test.each([
    ["lost", async (prefix: string) => redis.run("DEL", ...(await keysOf(prefix)))],
    [
      "went back to an older state of",
      (prefix: string) =>
        redis.run("HSET", `{${prefix}}:clusters`, "west", JSON.stringify({ meta: metaOf(0), version: "x" })),
    ],
  ])("refuses changes of a cluster that the engine %s, until a full push", async (_, lose) => {
    const { store, prefix } = await withWest();
    await lose(prefix);
    await expect(store.keep("west", toSecond)).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
    const lease = { kind: "lease", meta: metaOf(1, 5) } as const;
    await expect(store.keep("west", lease)).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
    await store.keep("west", wholeOf(snapshotOf("west", 2), metaOf(2)));
    await store.keep("west", toThird);
    await store.close();
    const again = await open(prefix);
    expect(await loadAll(again.store)).toEqual({
      west: { meta: metaOf(3), snapshot: snapshotOf("west", 3) },
    });
    await again.store.close();
  });

  test.each([
    ["whose entries were deleted", "DEL"],
    ["whose entries were deleted, before a delta", "DEL", toSecond],
  ])("does not load a cluster %s", async (_, command, change?: typeof toSecond) => {
    const { store, prefix } = await withWest();
    await store.keep("east", wholeOf(snapshotOf("east", 1), metaOf(1)));
    const entries = (await keysOf(prefix)).find((key) => key.includes(":west:"))!;
    await redis.run(command, entries);
    if (change !== undefined) await store.keep("west", change);
    await store.close();
    const again = await open(prefix);
    expect(Object.keys(await loadAll(again.store))).toEqual(["east"]);
    expect(again.warnings).toMatchObject([{ code: "CORRUPT_SNAPSHOT", clusterId: "west" }]);
    await expect(again.store.keep("west", toSecond)).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
    await again.store.close();
  });

  test("of another format version is not opened", async () => {
    const prefix = newPrefix();
    await redis.run("HSET", `{${prefix}}:writer`, "format", "2", "number", "1");
    await expect(open(prefix)).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining("format version 2"),
    });
  });
});

describe("an engine", () => {
  test("that may evict keys is not used, nor one that nobody listens at", async () => {
    await redis.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await expect(open(newPrefix())).rejects.toThrow(/allkeys-lru.*set maxmemory-policy to noeviction/);
    await redis.run("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await expect(open(newPrefix(), { url: "redis://127.0.0.1:1" })).rejects.toThrow(/ECONNREFUSED/);
  });

  test("with TLS is believed only with a certificate of the configured authority", async () => {
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
    const { store } = await open("tls", { url, ca: authority.cert });
    await store.keep("west", wholeOf(snapshotOf("west", 1), metaOf(1)));
    expect(Object.keys(await loadAll(store))).toEqual(["west"]);
    await store.close();
    await expect(open("tls", { url })).rejects.toThrow(/SELF_SIGNED_CERT_IN_CHAIN/);
    await secure.process.stop();
  });

  test("serves an ACL user that has the keys of the prefix alone", async () => {
    const rights = "+@read +@write +@connection +@scripting +@transaction -@dangerous +info +time";
    await redis.run(
      "ACL",
      "SETUSER",
      "gateway",
      "on",
      ">secret",
      "resetkeys",
      "~{acl}:*",
      ...rights.split(" "),
    );
    const user = { username: "gateway", password: "secret" };
    const { store } = await open("acl", user);
    await store.keep("west", wholeOf(snapshotOf("west", 1), metaOf(1)));
    await store.keep("west", toSecond);
    expect(Object.keys(await loadAll(store))).toEqual(["west"]);
    await store.remove("west");
    await store.close();
    await expect(open("other", user)).rejects.toThrow(/NOPERM/);
    await expect(open("acl", { ...user, password: "wrong" })).rejects.toThrow(/WRONGPASS/);
  });

  test("without memory takes no change, and takes changes again when it has some", async () => {
    const { store } = await withWest();
    await redis.run("CONFIG", "SET", "maxmemory", "1");
    await expect(store.keep("west", toSecond)).rejects.toMatchObject({ code: "STORE_FULL" });
    await redis.run("CONFIG", "SET", "maxmemory", "0");
    await store.keep("west", toSecond);
    await store.close();
  });

  test("that stops for longer than the gateway waits may have carried a change out: nothing is built on it", async () => {
    const { store, prefix } = await withWest();
    redis.process.signal("SIGSTOP");
    const late = store.keep("west", toSecond);
    await expect(late).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining("no reply"),
    });
    redis.process.signal("SIGCONT");
    // The worker sends the change again, with another one.
    const both = patchTo(snapshotOf("west", 1), snapshotOf("west", 3), metaOf(3));
    const outcome = await eventuallyKept(() => store.keep("west", both));
    if (outcome === "NO_SNAPSHOT") await store.keep("west", wholeOf(snapshotOf("west", 3), metaOf(3)));
    await store.close();
    const again = await open(prefix);
    expect(await loadAll(again.store)).toEqual({
      west: { meta: metaOf(3), snapshot: snapshotOf("west", 3) },
    });
    await again.store.close();
  });

  test("that starts again has every change that it acknowledged, and goes on", async () => {
    const { store, prefix } = await withWest();
    await store.keep("west", toSecond);
    await redis.process.kill();
    await expect(store.keep("west", toThird)).rejects.toMatchObject({ code: "STORE_FAILED" });
    await redis.process.start();
    expect(await eventuallyKept(() => store.keep("west", toThird))).toBe("kept");
    await store.close();
    const again = await open(prefix);
    expect(await loadAll(again.store)).toEqual({
      west: { meta: metaOf(3), snapshot: snapshotOf("west", 3) },
    });
    await again.store.close();
  });
});

/** Tries until the engine is back. @returns the code of the refusal, or "kept" */
async function eventuallyKept(keep: () => Promise<void>): Promise<string> {
  for (;;) {
    const code = await keep().then(
      () => "kept",
      (error: { code: string }) => error.code,
    );
    if (code !== "STORE_FAILED") return code;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
