import { expect, test } from "vitest";
import { startRedisCluster } from "./cluster.ts";
import { startSentinelGroup } from "./sentinel-group.ts";

test("Sentinels replace a master on command, and one that was killed, with what it had", async () => {
  const group = await startSentinelGroup({ password: "secret", sentinelPassword: "hidden" });
  const first = await group.master();
  await first.run("SET", "key", "1");
  await group.replicated();
  const second = await group.failover();
  expect(second).not.toBe(first);
  await second.run("SET", "key", "2");
  await group.replicated();
  await second.process.kill();
  expect(await group.masterOtherThan(second)).toBe(first);
  expect(await first.run("GET", "key")).toBe("2");
  await second.process.start();
  await group.replicated();
  await group.stop();
});

test("a replica takes the place of a Cluster's master that was killed", async () => {
  const cluster = await startRedisCluster({ replicasOfEach: 1 });
  const owner = await cluster.ownerOf("key");
  await owner.run("SET", "key", "1");
  expect(await owner.run("WAIT", "1", "10000")).toBe(1);
  await owner.process.kill();
  await expect.poll(() => cluster.ownerOf("key"), { timeout: 30_000 }).not.toBe(owner);
  expect(await (await cluster.ownerOf("key")).run("GET", "key")).toBe("1");
  await cluster.stop();
});
