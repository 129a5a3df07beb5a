import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { eventually } from "../harness/answers.ts";
import { startGateway } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { openMany } from "./connections.ts";

const NAME = "web.shop.svc.clusterset.local";
const PRELOAD = fileURLToPath(new URL("still-thread.ts", import.meta.url));

it("while the main thread stands still every thread answers queries and health checks, and a push waits", async () => {
  const file = join(temporaryFolder("still"), "moving-again");
  const gateway = await startGateway({
    clusters: ["west"],
    leaseSeconds: 600,
    config: { threads: 2, access: { public: true }, limits: { requestSeconds: 600 } },
    env: { NODE_OPTIONS: `--import=${PRELOAD}`, MOVING_AGAIN: file },
  });
  onTestFinished(async () => void (await gateway.stop()));
  expect((await gateway.push(shopSnapshot("west", 2))).status).toBe(200);
  const connections = await openMany(gateway);
  onTestFinished(() => {
    for (const connection of connections) connection.close();
  });
  process.kill(gateway.process.pid!, "SIGUSR2");
  onTestFinished(() => writeFileSync(file, ""));

  let isPushed = false;
  const pushed = gateway.push(shopSnapshot("west", 3)).finally(() => {
    isPushed = true;
  });
  const ready = async () => (await connections[0]!.get("/readyz")).body.toString();
  await eventually(ready).toBe("ready\n");
  for (const connection of connections) {
    expect((await connection.get("/healthz")).status).toBe(200);
    expect(await connection.get("/readyz")).toMatchObject({ status: 200, body: Buffer.from("ready\n") });
    expect(await connection.addresses(NAME)).toHaveLength(2);
  }
  expect(isPushed).toBe(false);

  writeFileSync(file, "");
  expect((await pushed).status).toBe(200);
  for (const connection of connections) expect(await connection.addresses(NAME)).toHaveLength(3);
  await eventually(ready).toBe("ready: 1 of 1 clusters live\n");
});
