import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisAddress, SentinelAddress } from "../../../../src/replica/redis-address.ts";
import { RedisConnection } from "../../../../src/replica/redis-connection.ts";
import { makeAuthority, makeServer } from "../../../hosts/client-certificates.ts";
import { eventually } from "../../harness/answers.ts";
import { type SentinelGroup, startSentinelGroup } from "../../servers/redis/sentinel-group.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { waitFor } from "../../servers/wait.ts";

const PASSWORD = "correct-horse";
const SENTINEL_PASSWORD = "battery-staple";

function endpointOf(node: string) {
  const [host, port] = node.split(":");
  return { host: host!, port: Number(port) };
}

describe("a connection through Sentinels with TLS and passwords", () => {
  let group: SentinelGroup;
  let connection: RedisConnection;

  let address: RedisAddress;

  beforeAll(async () => {
    const folder = temporaryFolder("sentinel-tls");
    const authority = await makeAuthority("engines");
    const server = await makeServer(authority, [], ["127.0.0.1"]);
    const written = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    group = await startSentinelGroup({
      password: PASSWORD,
      sentinelPassword: SENTINEL_PASSWORD,
      tls: {
        ca: written("ca", authority.cert),
        cert: written("cert", server.cert),
        key: written("key", server.key),
      },
    });
    const login = { password: SENTINEL_PASSWORD };
    const nodes = group.nodes.map(endpointOf);
    address = {
      password: PASSWORD,
      ca: authority.cert,
      sentinel: { name: group.name, tls: true, database: 0, login, nodes },
    };
    // The first Sentinel does not reply.
    connection = await RedisConnection.open(changed({ nodes: [{ host: "127.0.0.1", port: 1 }, ...nodes] }));
  });

  const changed = (different: Partial<SentinelAddress>) => ({
    ...address,
    sentinel: { ...address.sentinel!, ...different },
  });

  afterAll(async () => {
    connection?.close();
    await group?.stop();
  });

  test("replaces a connection to a master that hangs, and finds the new one", async () => {
    const before = await group.master();
    before.process.signal("SIGSTOP");
    const hanging = connection.run((client) => client.get("{test}:written-not"));
    await expect(hanging).rejects.toMatchObject({ code: "STORE_FAILED" });
    const after = await group.masterOtherThan(before);
    await waitFor("a write", () => connection.run((client) => client.set("{test}:after", "1")));
    expect(await after.run("GET", "{test}:after")).toBe("1");
    before.process.signal("SIGCONT");
    await group.replicated();
  });

  test("goes on while all Sentinels are gone, and finds them again", async () => {
    for (const sentinel of group.sentinels) await sentinel.kill();
    await lookedFor(endpointOf(group.nodes[0]!).port);
    await connection.run((client) => client.set("{test}:alone", "1"));
    for (const sentinel of group.sentinels) await sentinel.start();
    const after = await group.failover();
    await waitFor("a write to the new master", async () => {
      await connection.run((client) => client.set("{test}:found", "1"));
      return (await after.run("GET", "{test}:found")) === "1";
    });
  });

  test.each<[string, Partial<SentinelAddress>, RegExp]>([
    [
      "no Sentinel replies",
      { nodes: [{ host: "127.0.0.1", port: 1 }] },
      /Sentinel 127\.0\.0\.1:1: ECONNREFUSED/,
    ],
    ["the Sentinels do not know the name", { name: "other" }, /watches no servers with the name other/],
    ["the password is not that of the Sentinels", { login: { password: "wrong" } }, /WRONGPASS/],
  ])("is not opened where %s, and says so", async (_, different, message) => {
    const code = "STORE_FAILED";
    const opened = RedisConnection.open(changed(different));
    await expect(opened).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test("is not opened where another authority signed the certificates", async () => {
    const opened = RedisConnection.open({ ...address, ca: undefined });
    await expect(opened).rejects.toThrow(/SELF_SIGNED_CERT_IN_CHAIN/);
  });
});

/** Resolves when a Sentinel that is gone was looked for again, after it was not found once. */
async function lookedFor(port: number): Promise<void> {
  let times = 0;
  const server = createServer((socket) => {
    times++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await eventually(() => times).toBeGreaterThan(1);
  await new Promise((resolve) => server.close(resolve));
}
