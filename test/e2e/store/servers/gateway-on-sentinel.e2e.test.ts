import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pushed } from "../../../snapshot/lines/push-lines.ts";
import { snapshotOf } from "../../../store/changes.ts";
import { eventually } from "../../harness/answers.ts";
import { runCli } from "../../harness/cli.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { type SentinelGroup, startSentinelGroup } from "../../servers/redis/sentinel-group.ts";
import { runRedis } from "../../servers/redis.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";

const PASSWORD = "correct-horse";
const SENTINEL_PASSWORD = "battery-staple";
const page = readFileSync("docs/how-to/deploy/valkey.md", "utf8");
const folder = temporaryFolder("gateway-on-sentinel");
const files = { password: PASSWORD, "sentinel-password": SENTINEL_PASSWORD };
let group: SentinelGroup;
let gateway: GatewayProcess;

const store = (name = group.name) => ({
  sentinel: {
    ...{ name, nodes: group.nodes, username: "watcher", passwordFile: join(folder, "sentinel-password") },
  },
  username: "gateway",
  passwordFile: join(folder, "password"),
});
const options = () => ({
  ...{ clusters: ["east", "west"], tls: false, stateDir: join(folder, "state") },
  config: { access: { public: true }, store: store() },
});
const put = (clusterId: string, generation: number) =>
  gateway.http(
    ...pushed(
      "PUT",
      `/api/v1/clusters/${clusterId}/snapshot?leaseSeconds=600`,
      snapshotOf(clusterId, generation),
      { authorization: `Bearer ${gateway.tokenFor(clusterId)}` },
    ),
  );
const liveClusters = async () => {
  const { clusters } = JSON.parse((await gateway.http("/status")).text) as {
    clusters: { clusterId: string; live: boolean }[];
  };
  return clusters.filter(({ live }) => live).map(({ clusterId }) => clusterId);
};

beforeAll(async () => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), `${text}\n`);
  group = await startSentinelGroup({ password: "of-default", sentinelPassword: "of-the-watchers" });
  // The users that the page tells to make, with these rights and no others.
  const rights = /^ *ACL SETUSER gateway (.+)$/m.exec(page)![1]!.replace("PASSWORD", PASSWORD);
  const rightsThere = /`(\+sentinel\|[^`]+)`/.exec(page)![1]!;
  for (const server of group.servers) await server.run("ACL", "SETUSER", "gateway", ...rights.split(" "));
  for (const node of group.nodes) {
    const user = ["watcher", "on", `>${SENTINEL_PASSWORD}`, rightsThere];
    await runRedis(`redis://${node}`, "of-the-watchers", ["ACL", "SETUSER", ...user]);
  }
  gateway = await startGateway(options());
});

afterAll(async () => {
  await gateway?.stop();
  await group?.stop();
});

test("a gateway has its state behind Sentinels, as users with the documented rights alone, and keeps it over failovers", async () => {
  expect((await put("east", 1)).status).toBe(200);
  await group.replicated();
  const first = await group.master();
  const second = await group.failover();
  // The old master takes writes until the Sentinels have made the other one the master; those are lost.
  await eventually(async () => {
    await put("west", 1);
    return second.run("HKEYS", "{clusterset-doh}:clusters");
  }).toContain("west");
  await group.replicated();
  await second.process.kill();
  expect(await group.masterOtherThan(second)).toBe(first);
  await eventually(async () => (await put("west", 2)).status).toBe(200);
  await gateway.kill();
  await gateway.restart();
  expect((await liveClusters()).sort()).toEqual(["east", "west"]);
  expect((await gateway.http("/status")).text).not.toContain(PASSWORD);
});

test("a group that the Sentinels do not watch ends the start with its name", async () => {
  const file = join(folder, "other.json");
  writeFileSync(file, JSON.stringify({ store: store("other"), tls: false }));
  const { code, stderr } = await runCli(["serve", "--listen", "127.0.0.1:0", "--config", file]);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(
      /the store other of the Sentinels 127\.0\.0\.1:.*watches no servers with the name other/,
    ),
  ]);
});
