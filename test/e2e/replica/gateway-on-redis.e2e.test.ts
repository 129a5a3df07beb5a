import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answered, eventualAnswer, untilAnswered } from "../harness/answers.ts";
import { runCli } from "../harness/cli.ts";
import { writeDatabase } from "../harness/manifests.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { type Redis, startRedis } from "../servers/redis.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const PASSWORD = "correct-horse";
const folder = temporaryFolder("gateway-on-redis");
const manifests = join(folder, "manifests");
const passwordFile = join(folder, "password");
const stateDir = join(folder, "state");
let redis: Redis;
let gateway: GatewayProcess;
let worker: SyncProcess;

/** The manifests of the cluster, with these pods of the headless service `db`. */
const serve = (...addresses: string[]) =>
  writeDatabase(manifests, { port: 5432, endpoints: addresses.map((address) => ({ address })) });

const onRedis = () => ({
  ...{ clusters: ["east", "west"], tls: false, stateDir },
  config: { access: { public: true }, store: { url: redis.url, passwordFile } },
});
const readyz = async () => {
  const { status, text } = await gateway.http("/readyz");
  return [status, text.trim()];
};
beforeAll(async () => {
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  redis = await startRedis(["--requirepass", PASSWORD], PASSWORD);
  gateway = await startGateway(onRedis());
  serve("10.1.0.1");
  worker = startSync({ manifests, clusterId: "east", gateways: [gateway], args: ["--lease", "600"] });
  await untilAnswered(gateway, "db.shop", ["10.1.0.1"]);
});

afterAll(async () => {
  await worker?.stop();
  await gateway?.stop();
  await redis?.process.stop();
});

test.each([
  ["its own database", () => {}],
  ["Redis, without a state folder", () => rmSync(stateDir, { recursive: true })],
])("after kill -9 a gateway answers from %s, without a worker", async (_, lose) => {
  serve("10.1.0.2");
  await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.2"]);
  await gateway.kill();
  await worker.kill();
  lose();
  await gateway.restart();
  expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.2"]);
  expect((await readyz())[0]).toBe(200);
  await worker.restart();
});

test("an engine that cannot be used ends the start with its address and the cause, without the password", async () => {
  const start = (url: string) =>
    runCli([
      ...["serve", "--listen", "127.0.0.1:0", "--no-tls", "--store", url],
      ...["--state-dir", join(folder, "unused")],
    ]);
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
  const file = await start("http://127.0.0.1");
  expect([file.code, file.stderr]).toEqual([2, expect.stringContaining("store.url: must be redis://")]);
});
