import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { answered, eventually } from "../harness/answers.ts";
import { MINUTE, MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { renew } from "../replica/many/harness/push-requests.ts";

const LEASE_SECONDS = 300;
const clock = new MovedClock();
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({ clusters: ["west", "east"], env: clock.env });
});
afterAll(() => gateway?.stop());

/** Lets the log of the database not grow, or lifts that (setrlimit(2)). */
function failDisk(fails: boolean): void {
  const most = fails ? statSync(join(gateway.stateDir, "clusterset.db-wal")).size : "unlimited";
  execFileSync("prlimit", ["--pid", String(gateway.process.pid), `--fsize=${most}:unlimited`]);
}

const push = (cluster: string, endpoints: number) =>
  gateway.push(shopSnapshot(cluster, endpoints), { leaseSeconds: LEASE_SECONDS });

test("while the disk fails changes are rejected, leases go on, and queries are answered; afterwards changes are taken and kept", async () => {
  const { generation } = (await push("west", 2)).json() as { generation: number };
  expect(await answered(gateway, "web.shop")).toHaveLength(2);
  failDisk(true);
  const rejected = await push("west", 3);
  expect([rejected.status, rejected.json()]).toEqual([
    503,
    expect.objectContaining({ code: "STORE_FAILED" }),
  ]);
  expect((await push("east", 1)).status).toBe(503);
  // Longer than the lease that is stored.
  for (let time = 0; time < 3; time++) {
    clock.pass(4 * MINUTE);
    expect((await renew(gateway, "west", generation, LEASE_SECONDS)).status).toBe(200);
    expect(await answered(gateway, "web.shop")).toHaveLength(2);
  }
  failDisk(false);
  expect((await push("west", 4)).status).toBe(200);
  expect(await answered(gateway, "web.shop")).toHaveLength(4);
  await eventually(() => gateway.process.log()).toMatch(/"store-failed".*"store-works-again"/s);
  await gateway.kill();
  await gateway.restart();
  expect(await answered(gateway, "web.shop")).toHaveLength(4);
});
