import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisAddress } from "../../../../src/replica/redis-address.ts";
import { RedisConnection } from "../../../../src/replica/redis-connection.ts";
import { RedisLog } from "../../../../src/replica/redis-log.ts";
import { DEADLINE } from "../../../deadline.ts";
import { makeAuthority, makeClient, makeServer } from "../../../hosts/client-certificates.ts";
import { append, changeTo, clusterAt } from "../../../replica/contract.ts";
import { freePort } from "../../servers/ports.ts";
import { type RedisCluster, startRedisCluster } from "../../servers/redis/cluster.ts";
import { type Redis, startRedis } from "../../servers/redis.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { waitFor } from "../../servers/wait.ts";

const PASSWORD = "correct-horse";
const KEY = "{moving}:list";

const endpoints = (servers: readonly Redis[]) => servers.map(({ port }) => ({ host: "127.0.0.1", port }));
const addressOf = (servers: readonly Redis[]): RedisAddress => ({
  password: PASSWORD,
  cluster: { nodes: endpoints(servers), tls: false },
});

describe("a connection to a Cluster", () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster({ replicasOfEach: 1, password: PASSWORD });
  });

  afterAll(() => cluster?.stop());

  /** Another master than the one that has the key. */
  const strangerTo = async (key: string) => {
    const owner = await cluster.ownerOf(key);
    const masters = await Promise.all(["{a}", "{b}", "{c}", "{d}", "{e}"].map(cluster.ownerOf));
    return masters.find((server) => server !== owner)!;
  };

  test.each(["url", "cluster"])("keeps all keys of a prefix at one node, found by any (%s)", async (kind) => {
    const prefix = `kept-${kind}`;
    const stranger = await strangerTo(`{${prefix}}`);
    const address = kind === "url" ? { url: stranger.url, password: PASSWORD } : addressOf([stranger]);
    const log = await RedisLog.open(address, prefix);
    await append(log, changeTo(clusterAt(1), { claims: [{ bucket: "0a000", text: "{}" }] }));
    await append(log, changeTo(clusterAt(2)), clusterAt(1));
    expect((await log.entries(1))[0]?.change?.cluster).toEqual(clusterAt(2));
    log.close();
    const owner = await cluster.ownerOf(`{${prefix}}`);
    expect(await owner.run("KEYS", `{${prefix}}:*`)).toHaveLength(4);
    expect(await stranger.run("KEYS", `{${prefix}}:*`)).toEqual([]);
  });

  test("carries out once each of many commands that come to the wrong node together", async () => {
    const connection = await RedisConnection.open(addressOf([await strangerTo("{many}")]));
    const pushes = Array.from({ length: 50 }, (_, at) =>
      connection.run((client) => client.rPush("{many}:list", String(at))),
    );
    await Promise.all(pushes);
    const list = await connection.run((client) => client.lRange("{many}:list", 0, -1));
    expect(list.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, at) => at));
    connection.close();
  });

  test("follows a slot that moves to another node", async () => {
    const connection = await RedisConnection.open(addressOf(cluster.servers));
    await connection.run((client) => client.rPush(KEY, "1"));
    const [from, to] = [await cluster.ownerOf(KEY), await strangerTo(KEY)];
    const slot = String(await from.run("CLUSTER", "KEYSLOT", KEY));
    const idOf = async (server: Redis) => String(await server.run("CLUSTER", "MYID"));
    await to.run("CLUSTER", "SETSLOT", slot, "IMPORTING", await idOf(from));
    await from.run("CLUSTER", "SETSLOT", slot, "MIGRATING", await idOf(to));
    const target = ["127.0.0.1", String(to.port), "", "0", String(DEADLINE), "AUTH", PASSWORD, "KEYS", KEY];
    await from.run("MIGRATE", ...target);
    // The key is at the one node, and its slot still that of the other.
    const between = connection.run((client) => client.rPush(KEY, "2"));
    await expect(between).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining("ASK"),
    });
    for (const server of [to, from]) await server.run("CLUSTER", "SETSLOT", slot, "NODE", await idOf(to));
    expect(await connection.run((client) => client.rPush(KEY, "3"))).toBe(2);
    expect(await to.run("LRANGE", KEY, "0", "-1")).toEqual(["1", "3"]);
    connection.close();
  });

  test("goes on at the replica that takes the place of the node that was killed", async () => {
    const connection = await RedisConnection.open(addressOf(cluster.servers));
    await connection.run((client) => client.set("{failing}", "1"));
    const owner = await cluster.ownerOf("{failing}");
    expect(await owner.run("WAIT", "1", String(DEADLINE))).toBe(1);
    await owner.process.kill();
    await expect(connection.run((client) => client.get("{failing}"))).rejects.toMatchObject({
      code: "STORE_FAILED",
    });
    expect(await waitFor("a reply", () => connection.run((client) => client.get("{failing}")))).toBe("1");
    expect(await cluster.ownerOf("{failing}")).not.toBe(owner);
    await owner.process.start();
    connection.close();
  });
});

test("servers with TLS that demand a certificate get that of the gateway, in a Cluster", async () => {
  const folder = temporaryFolder("cluster-tls");
  const authority = await makeAuthority("engines");
  const server = await makeServer(authority, [], ["127.0.0.1"]);
  const identity = await makeClient(authority, "gateway");
  for (const [name, text] of Object.entries({ ca: authority.cert, cert: server.cert, key: server.key }))
    writeFileSync(join(folder, name), text);
  const port = await freePort();
  const node = await startRedis({
    "cluster-enabled": "yes",
    "cluster-port": await freePort(),
    "tls-port": port,
    "tls-cluster": "yes",
    "tls-auth-clients": "yes",
    "tls-ca-cert-file": join(folder, "ca"),
    "tls-cert-file": join(folder, "cert"),
    "tls-key-file": join(folder, "key"),
  });
  await node.run("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await waitFor("the Cluster", async () =>
    String(await node.run("CLUSTER", "INFO")).includes("cluster_state:ok"),
  );
  const cluster = { nodes: [{ host: "127.0.0.1", port }], tls: true };
  const connection = await RedisConnection.open({ cluster, ca: authority.cert, identity });
  await connection.run((client) => client.set("{a}", "1"));
  connection.close();
  expect(await node.run("DBSIZE")).toBe(1);
  const anonymous = RedisConnection.open({ cluster, ca: authority.cert });
  await expect(anonymous).rejects.toThrow(/CERTIFICATE_REQUIRED|ECONNRESET/);
  await node.process.kill();
});
