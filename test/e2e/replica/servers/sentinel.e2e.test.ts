import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisAddress } from "../../../../src/replica/redis-address.ts";
import { RedisConnection } from "../../../../src/replica/redis-connection.ts";
import { makeAuthority, makeServer } from "../../../hosts/client-certificates.ts";
import { eventually } from "../../harness/answers.ts";
import { type SentinelGroup, startSentinelGroup } from "../../servers/redis/sentinel-group.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { waitFor } from "../../servers/wait.ts";

const PASSWORD = "correct-horse";
const SENTINEL_PASSWORD = "battery-staple";

/** The address of a group, without TLS. */
function addressOf({ name, nodes }: SentinelGroup, port = 0): RedisAddress {
  return {
    password: PASSWORD,
    sentinel: {
      name,
      tls: false,
      database: 0,
      login: { password: SENTINEL_PASSWORD },
      nodes: [...(port === 0 ? [] : [{ host: "127.0.0.1", port }]), ...nodes.map(endpointOf)],
    },
  };
}

function endpointOf(node: string) {
  const [host, port] = node.split(":");
  return { host: host!, port: Number(port) };
}

describe("a connection through Sentinels", () => {
  let group: SentinelGroup;
  let connection: RedisConnection;

  beforeAll(async () => {
    group = await startSentinelGroup({ password: PASSWORD, sentinelPassword: SENTINEL_PASSWORD });
    // The first Sentinel does not reply.
    connection = await RedisConnection.open(addressOf(group, 1));
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

  test.each<[string, Partial<NonNullable<RedisAddress["sentinel"]>>, RegExp]>([
    [
      "no Sentinel replies",
      { nodes: [{ host: "127.0.0.1", port: 1 }] },
      /Sentinel 127\.0\.0\.1:1: ECONNREFUSED/,
    ],
    ["the Sentinels do not know the name", { name: "other" }, /watches no servers with the name other/],
    ["the password is not that of the Sentinels", { login: { password: "wrong" } }, /WRONGPASS/],
  ])("is not opened where %s, and says so", async (_, different, message) => {
    const address = addressOf(group);
    const opened = RedisConnection.open({ ...address, sentinel: { ...address.sentinel!, ...different } });
    await expect(opened).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringMatching(message),
    });
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

test("a connection through Sentinels with TLS follows a failover", async () => {
  const folder = temporaryFolder("sentinel-tls");
  const authority = await makeAuthority("engines");
  const identity = await makeServer(authority, [], ["127.0.0.1"]);
  const files = { ca: authority.cert, cert: identity.cert, key: identity.key };
  const tls = { ca: "", cert: "", key: "" };
  for (const [name, text] of Object.entries(files) as [keyof typeof files, string][]) {
    tls[name] = join(folder, name);
    writeFileSync(tls[name], text);
  }
  const group = await startSentinelGroup({
    password: PASSWORD,
    sentinelPassword: SENTINEL_PASSWORD,
    tls,
  });
  const plain = addressOf(group);
  const address = { ...plain, sentinel: { ...plain.sentinel!, tls: true } };
  await expect(RedisConnection.open(address)).rejects.toThrow(/SELF_SIGNED_CERT_IN_CHAIN/);
  const connection = await RedisConnection.open({ ...address, ca: authority.cert });
  await connection.run((client) => client.set("{test}:secure", "1"));
  await group.replicated();
  const after = await group.failover();
  await waitFor("a write to the new master", async () => {
    await connection.run((client) => client.set("{test}:secure", "2"));
    return (await after.run("GET", "{test}:secure")) === "2";
  });
  connection.close();
  await group.stop();
});
