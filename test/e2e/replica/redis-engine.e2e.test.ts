import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Kind } from "../../../src/database/places.ts";
import { RedisLog } from "../../../src/replica/redis-log.ts";
import { makeAuthority, makeServer } from "../../hosts/client-certificates.ts";
import { append, changeTo, clusterAt, describeSharedLog, rowsOf } from "../../replica/contract.ts";
import { eventually } from "../harness/answers.ts";
import { runCli } from "../harness/cli.ts";
import { FaultProxy } from "../servers/network.ts";
import { freePort } from "../servers/ports.ts";
import { startRedis } from "../servers/redis.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { RedisLogs } from "./redis-logs.ts";

let logs: RedisLogs;

beforeAll(async () => {
  logs = await RedisLogs.start();
});

afterAll(() => logs?.redis.process.stop());

describeSharedLog("Redis", async () => {
  const prefix = logs.newPrefix();
  const closing: (() => Promise<void>)[] = [];
  return {
    async connect() {
      const network = await FaultProxy.start(logs.redis.port);
      const log = await logs.open(prefix, { url: `redis://127.0.0.1:${network.port}` });
      closing.push(() => network.close());
      return { log, disconnect: () => void network.refuse(), reconnect: () => void network.heal() };
    },
    async trim() {
      await logs.onKey(prefix, "XTRIM", "log", "MAXLEN", "1");
    },
    async close() {
      for (const close of closing) await close();
    },
  };
});

/** An entry with text of that many characters. */
function entryOf(characters: number, name = "shop/web") {
  const text = JSON.stringify({ text: "x".repeat(characters) });
  return { key: name, kind: Kind.export, name, part: 0, reported: null, counts: null, text, sum: 1 };
}

test("the log has some dozens of MiB at most", async () => {
  const prefix = logs.newPrefix();
  const log = await logs.open(prefix);
  for (let at = 1; at <= 300; at++)
    await append(
      log,
      changeTo(clusterAt(at), { entries: [entryOf(250_000)] }),
      at === 1 ? undefined : clusterAt(at - 1),
    );
  const length = Number(await logs.onKey(prefix, "XLEN", "log"));
  // 32 MiB have 134 of them.
  expect(length).toBeGreaterThanOrEqual(134);
  expect(length).toBeLessThan(2 * 135 + 1);
  log.close();
});

test("rows of a large change are there for a time, and those that did not come to count, too", async () => {
  const prefix = logs.newPrefix();
  const log = await logs.open(prefix);
  const large = changeTo(clusterAt(1), { entries: [entryOf(300_000)] });
  await append(log, large);
  const [key] = (await logs.keys(prefix)).filter((one) => one.startsWith("change:"));
  expect(await logs.onKey(prefix, "TTL", key!)).toBeGreaterThan(60);
  expect(await append(log, large)).toBe("changed");
  expect((await logs.keys(prefix)).filter((one) => one.startsWith("change:"))).toEqual([key]);
  await logs.onKey(prefix, "DEL", key!);
  expect(await log.entries(0)).toMatchObject([{ position: 1, change: undefined }]);
  expect((await rowsOf(log)).entries).toHaveLength(1);
  log.close();
});

test("the rows of a cluster's four newest large changes are there beside their entries", async () => {
  const prefix = logs.newPrefix();
  const log = await logs.open(prefix);
  const large = { entries: [entryOf(300_000)] };
  await append(log, changeTo(clusterAt(1, "east"), large));
  await append(log, changeTo(clusterAt(1)));
  for (let at = 2; at <= 7; at++) await append(log, changeTo(clusterAt(at), large), clusterAt(at - 1));
  await append(log, changeTo(clusterAt(8)), clusterAt(7));
  const entries = await log.entries(0);
  const read = entries.filter(({ change }) => change !== undefined);
  expect(read.map(({ position }) => position)).toEqual([1, 2, 5, 6, 7, 8, 9]);
  const lists = [1, 5, 6, 7, 8].map((position) => `change:${entries[position - 1]!.id}`);
  expect((await logs.keys(prefix)).filter((one) => one.startsWith("change:"))).toEqual(lists.sort());
  log.close();
});

test("a log of another format version is not read, and not changed by gateways that have it open", async () => {
  const prefix = logs.newPrefix();
  const log = await logs.open(prefix);
  await append(log, changeTo(clusterAt(1)));
  await logs.onKey(prefix, "HSET", "head", "format", "99");
  const other = { code: "STORE_FAILED", message: expect.stringContaining("format version 99") };
  await expect(log.head(0)).rejects.toMatchObject(other);
  for (const change of [changeTo(clusterAt(2)), changeTo(clusterAt(2), { entries: [entryOf(300_000)] })])
    await expect(append(log, change, clusterAt(1))).rejects.toMatchObject(other);
  expect(await logs.onKey(prefix, "XLEN", "log")).toBe(1);
  log.close();
});

test("an engine without memory takes no change, and takes changes again when it has some", async () => {
  const prefix = logs.newPrefix();
  const log = await logs.open(prefix);
  await append(log, changeTo(clusterAt(1)));
  await logs.redis.run("CONFIG", "SET", "maxmemory", "1");
  for (const entries of [[], [entryOf(1)], [entryOf(300_000)]])
    await expect(append(log, changeTo(clusterAt(2), { entries }), clusterAt(1))).rejects.toMatchObject({
      code: "STORE_FULL",
    });
  await logs.redis.run("CONFIG", "SET", "maxmemory", "0");
  expect(await logs.onKey(prefix, "XLEN", "log")).toBe(1);
  expect(await append(log, changeTo(clusterAt(2)), clusterAt(1))).toBe(2);
  log.close();
});

test("a replaced password counts for the next connection, without a restart", async () => {
  let password = "first";
  await logs.redis.run("ACL", "SETUSER", "rotated", "on", ">first", "~*", "+@all");
  const address = {
    url: logs.redis.url,
    username: "rotated",
    get password() {
      return password;
    },
  };
  const log = await RedisLog.open(address, logs.newPrefix());
  await logs.redis.run("ACL", "SETUSER", "rotated", "resetpass", ">next");
  await logs.redis.run("CLIENT", "KILL", "USER", "rotated");
  const head = () => log.head(1).catch((error: Error) => error.message);
  await eventually(head).toContain("WRONGPASS");
  password = "next";
  await eventually(head).not.toEqual(expect.any(String));
  log.close();
});

test("an engine that may evict keys by now is not used after a lost connection, until it keeps them again", async () => {
  const prefix = logs.newPrefix();
  const log = await logs.open(prefix);
  await append(log, changeTo(clusterAt(1)));
  await logs.redis.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  await logs.redis.run("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  const head = () => log.head(1).catch((error: Error) => error.message);
  await eventually(head).toContain("noeviction");
  await logs.redis.run("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await eventually(head).toMatchObject({ position: 1 });
  log.close();
});

test("a large change that the engine has too little memory for leaves nothing there", async () => {
  const prefix = logs.newPrefix();
  const log = await logs.open(prefix);
  const [, used] = /^used_memory:(\d+)/m.exec(String(await logs.redis.run("INFO", "memory")))!;
  await logs.redis.run("CONFIG", "SET", "maxmemory", String(Number(used) + 4 * 1024 * 1024));
  const entries = Array.from({ length: 60 }, (_, at) => entryOf(250_000, `shop/s${at}`));
  await expect(append(log, changeTo(clusterAt(1), { entries }))).rejects.toMatchObject({
    code: "STORE_FULL",
  });
  await logs.redis.run("CONFIG", "SET", "maxmemory", "0");
  expect(await logs.keys(prefix)).toEqual([]);
  log.close();
});

test("an ACL user needs the keys of the prefix alone, and the commands that the page lists", async () => {
  const page = readFileSync("docs/how-to/deploy/valkey.md", "utf8");
  const [, listed] = /^ *ACL SETUSER gateway (.+)$/m.exec(page)!;
  const user = listed!.replace("PASSWORD", "secret").replace("{clusterset-doh}", "{acl}").split(" ");
  await logs.redis.run("ACL", "SETUSER", "gateway", ...user);
  const address = { username: "gateway", password: "secret" };
  const log = await logs.open("acl", address);
  await append(log, changeTo(clusterAt(1), { entries: [entryOf(300_000)] }));
  const gone = [{ kind: Kind.export, name: "shop/web", part: 0 }];
  await append(log, changeTo(clusterAt(2), { gone }), clusterAt(1));
  await append(log, changeTo(clusterAt(3), { isCleared: true }), clusterAt(2));
  expect(await append(log, changeTo(clusterAt(3), { entries: [entryOf(300_000)] }))).toBe("changed");
  expect(await log.entries(0)).toHaveLength(3);
  await log.rename("log", "other");
  expect(await log.clusters()).toMatchObject([{ id: "west" }]);
  expect((await rowsOf(log)).entries).toEqual([]);
  log.close();
  const elsewhere = await logs.open("other", address);
  await expect(elsewhere.head(0)).rejects.toThrow(/NOPERM/);
  elsewhere.close();
  await expect(logs.open("acl", { ...address, password: "wrong" })).rejects.toThrow(/WRONGPASS/);
});

test("an engine with TLS is believed only with a certificate of the configured authority", async () => {
  const folder = temporaryFolder("redis-tls");
  const authority = await makeAuthority("engines");
  const server = await makeServer(authority, [], ["127.0.0.1"]);
  const files = { "authority.crt": authority.cert, "server.crt": server.cert, "server.key": server.key };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const port = await freePort();
  const secure = await startRedis({
    "tls-port": port,
    "tls-auth-clients": "no",
    "tls-ca-cert-file": join(folder, "authority.crt"),
    "tls-cert-file": join(folder, "server.crt"),
    "tls-key-file": join(folder, "server.key"),
  });
  const url = `rediss://127.0.0.1:${port}`;
  const log = await logs.open("tls", { url, ca: authority.cert });
  await append(log, changeTo(clusterAt(1)));
  expect(await log.entries(0)).toHaveLength(1);
  log.close();
  await expect(logs.open("tls", { url })).rejects.toThrow(/SELF_SIGNED_CERT_IN_CHAIN/);
  await secure.process.stop();
});

test("a gateway whose engine cannot be used ends with its address and the cause, without the password", async () => {
  const store = "redis://user:hidden@127.0.0.1:1/3";
  const args = [`--store=${store}`, `--state-dir=${temporaryFolder("unused")}`, "--listen=127.0.0.1:0"];
  const { code, stdout, stderr } = await runCli(["serve", ...args]);
  const cause = expect.stringMatching(/the store redis:\/\/127\.0\.0\.1:1\/3: .*ECONNREFUSED/);
  expect([code, stderr]).toEqual([2, cause]);
  expect(stderr + stdout).not.toContain("hidden");
});
