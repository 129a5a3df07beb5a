import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answered, eventualAnswer, eventually, untilAnswered } from "../harness/answers.ts";
import { writeDatabase } from "../harness/manifests.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const leaseSeconds = 30;
/** West's. */
const longLeaseSeconds = 600;
const name = "db.shop.svc.clusterset.local";

interface Status {
  expiresAt: number;
  live: boolean;
}

describe("only the clusters with an expired lease leave the answers", () => {
  let gateway: GatewayProcess;
  let eastWorker: SyncProcess;
  let westWorker: SyncProcess;
  const clock = new MovedClock();
  /** Of both workers. */
  const workersClock = new MovedClock({ timers: true });

  beforeAll(async () => {
    const config = { ttlSeconds: 30 };
    gateway = await startGateway({ clusters: ["east", "west"], leaseSeconds, env: clock.env, config });
    const start = (clusterId: string, address: string, lease: number) => {
      const manifests = join(temporaryFolder("leases"), clusterId);
      writeDatabase(manifests, { port: 5432, endpoints: [{ address }] });
      const args = ["--lease", String(lease)];
      return startSync({ clusterId, manifests, gateways: [gateway], args, env: workersClock.env });
    };
    eastWorker = start("east", "10.1.0.1", leaseSeconds);
    westWorker = start("west", "10.2.0.1", longLeaseSeconds);
    await untilAnswered(gateway, "db.shop", ["10.1.0.1", "10.2.0.1"]);
  });

  afterAll(async () => {
    await Promise.all([eastWorker?.stop(), westWorker?.stop()]);
    await gateway?.stop();
  });

  test("a running worker renews the lease, and no TTL exceeds it", async () => {
    const first = await gateway.clusterStatus<Status>("east");
    const tooLong: unknown[] = [];
    await eventually(async () => {
      workersClock.pass(500);
      const asked = Date.now();
      const { ttls } = await gateway.lookup(name, "A");
      // Read after the answer was given: a renewal in between only makes the bound wider.
      const leases = [
        await gateway.clusterStatus<Status>("east"),
        await gateway.clusterStatus<Status>("west"),
      ];
      const bound = Math.min(...leases.map(({ expiresAt }) => expiresAt)) - asked;
      if (ttls.length !== 2 || Math.max(...ttls) * 1000 > bound) tooLong.push({ ttls, bound });
      return leases[0]?.expiresAt;
    }).toBeGreaterThan(first.expiresAt);
    expect(tooLong).toEqual([]);
  });

  test("the addresses of a killed worker's cluster leave after its lease, and the other cluster's stay", async () => {
    await eastWorker.kill();
    const { expiresAt } = await gateway.clusterStatus<Status>("east");
    const tooLong: unknown[] = [];
    await eventually(async () => {
      clock.pass(500);
      const asked = clock.now();
      const { values, ttls } = await gateway.lookup(name, "A");
      // While east is in the answer, caches must not keep the answer for longer than east's lease: no longer
      // than now once that is over.
      const kept = values.includes("10.1.0.1") ? asked + Math.max(...ttls) * 1000 : 0;
      if (kept > Math.max(expiresAt, asked)) tooLong.push({ values, ttls, left: expiresAt - asked });
      return values;
    }).toEqual(["10.2.0.1"]);
    expect(tooLong).toEqual([]);
    expect(clock.now()).toBeGreaterThanOrEqual(expiresAt);
    // Where time leaps, the gateway counts as overloaded for a moment.
    await eventually(() => gateway.clusterStatus<Status>("east")).toMatchObject({ live: false });
    // The details of readiness come from the thread that writes.
    await eventually(async () => (await gateway.http("/readyz")).text).toContain("1 of 2 clusters live");
  });

  test("a restarted gateway does not resurrect it", async () => {
    await gateway.restart();
    expect(await answered(gateway, "db.shop")).toEqual(["10.2.0.1"]);
    await gateway.kill();
    await gateway.restart();
    expect(await answered(gateway, "db.shop")).toEqual(["10.2.0.1"]);
  });

  test("after all leases expired it answers SERVFAIL, never NXDOMAIN, and is not ready, also after a restart", async () => {
    await westWorker.kill();
    clock.pass(longLeaseSeconds * 1000);
    await eventualAnswer(gateway, "db.shop").toBe("SERVFAIL");
    // Where time leaps, the thread that knows why counts as busy for a moment.
    await eventually(() => gateway.http("/readyz")).toMatchObject({
      status: 503,
      text: expect.stringContaining("lease"),
    });
    await gateway.restart();
    expect(await answered(gateway, "db.shop")).toBe("SERVFAIL");
    expect((await gateway.http("/readyz")).status).toBe(503);
  });

  test("restarted workers restore their answers", async () => {
    await eastWorker.restart();
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1"]);
    await westWorker.restart();
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1", "10.2.0.1"]);
    expect((await gateway.http("/readyz")).status).toBe(200);
  });

  test("a halted worker whose lease expired pushes in full when it continues", async () => {
    eastWorker.process.signal("SIGSTOP");
    clock.pass(leaseSeconds * 1000);
    await eventualAnswer(gateway, "db.shop").toEqual(["10.2.0.1"]);
    eastWorker.process.signal("SIGCONT");
    await eventually(workersClock.passing(() => answered(gateway, "db.shop"))).toEqual([
      "10.1.0.1",
      "10.2.0.1",
    ]);
  });
});
