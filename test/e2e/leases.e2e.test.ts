import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answered, eventualAnswer, eventually } from "./answers.ts";
import { world } from "./exported.ts";
import { kubeconfigOfWorker } from "./infra.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "./processes.ts";
import { type ApiServer, startApiServer } from "./servers/api-server.ts";

const leaseSeconds = 6;
const name = "db.shop.svc.clusterset.local";

interface Status {
  expiresAt: number;
  live: boolean;
}

describe("a cluster whose lease ran out leaves the answers, alone", () => {
  let east: ApiServer;
  let west: ApiServer;
  let gateway: GatewayProcess;
  let eastWorker: SyncProcess;
  let westWorker: SyncProcess;

  beforeAll(async () => {
    [east, west, gateway] = await Promise.all([
      startApiServer({ name: "east" }),
      startApiServer({ name: "west" }),
      startGateway({ clusters: ["east", "west"], leaseSeconds, config: { ttlSeconds: 30 } }),
    ]);
    const db = (address: string) => world("shop", { db: { headless: true, endpoints: [address] } });
    await Promise.all([east.admin.apply(...db("10.1.0.1")), west.admin.apply(...db("10.2.0.1"))]);
    const [eastConfig, westConfig] = await Promise.all([kubeconfigOfWorker(east), kubeconfigOfWorker(west)]);
    eastWorker = startSync({ clusterId: "east", kubeconfig: eastConfig, gateways: [gateway] });
    westWorker = startSync({ clusterId: "west", kubeconfig: westConfig, gateways: [gateway] });
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1", "10.2.0.1"]);
  });

  afterAll(async () => {
    await Promise.all([eastWorker?.stop(), westWorker?.stop()]);
    await Promise.all([gateway?.stop(), east?.stop(), west?.stop()]);
  });

  test("while its worker runs the lease is renewed, and no TTL outlives it", async () => {
    const first = await gateway.clusterStatus<Status>("east");
    await eventually(async () => {
      const { rcode, ttls } = await gateway.lookup(name, "A");
      const leases = [
        await gateway.clusterStatus<Status>("east"),
        await gateway.clusterStatus<Status>("west"),
      ];
      expect(rcode).toBe("NOERROR");
      // Asked after the answer was given, so a renewal in between only makes the bound wider.
      const bound = Math.max(...leases.map(({ expiresAt }) => expiresAt)) - Date.now();
      expect(Math.max(...ttls) * 1000).toBeLessThanOrEqual(Math.min(bound + 1000, leaseSeconds * 1000));
      return leases[0]?.expiresAt;
    }).toBeGreaterThan(first.expiresAt + leaseSeconds * 1000);
  });

  test("a killed worker: after its lease its addresses leave, the other cluster's stay", async () => {
    await eastWorker.kill();
    const { expiresAt } = await gateway.clusterStatus<Status>("east");
    // As long as east is in the answer, the answer may not be kept for longer than east's lease.
    const last = await eventually(async () => {
      const before = Date.now();
      const { values, ttls } = await gateway.lookup(name, "A");
      if (!values.includes("10.1.0.1")) return values;
      expect(before + Math.max(...ttls) * 1000).toBeLessThanOrEqual(expiresAt);
      return values;
    }).toEqual(["10.2.0.1"]);
    expect(last).toBeUndefined();
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    expect(await gateway.clusterStatus<Status>("east")).toMatchObject({ live: false });
    expect((await gateway.http("/readyz")).text).toContain("1 of 2 clusters live");
  });

  test("a restarted gateway does not resurrect it", async () => {
    await gateway.restart();
    expect(await answered(gateway, "db.shop")).toEqual(["10.2.0.1"]);
    await gateway.kill();
    await gateway.restart();
    expect(await answered(gateway, "db.shop")).toEqual(["10.2.0.1"]);
  });

  test("every lease over: SERVFAIL and not ready, also after a restart; it is no denial of names", async () => {
    await westWorker.kill();
    await eventualAnswer(gateway, "db.shop").toBe("SERVFAIL");
    const ready = await gateway.http("/readyz");
    expect(ready).toMatchObject({ status: 503, text: expect.stringContaining("lease") });
    await gateway.restart();
    expect(await answered(gateway, "db.shop")).toBe("SERVFAIL");
    expect((await gateway.http("/readyz")).status).toBe(503);
  });

  test("a lease that ran out while the gateway was down is over when it starts", async () => {
    await westWorker.restart();
    await eventualAnswer(gateway, "db.shop").toEqual(["10.2.0.1"]);
    await westWorker.kill();
    const { expiresAt } = await gateway.clusterStatus<Status>("west");
    await gateway.kill();
    await eventually(() => Date.now()).toBeGreaterThan(expiresAt);
    await gateway.restart();
    expect(await answered(gateway, "db.shop")).toBe("SERVFAIL");
  });

  test("workers that come back restore their answers", async () => {
    await eastWorker.restart();
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1"]);
    await westWorker.restart();
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1", "10.2.0.1"]);
    expect((await gateway.http("/readyz")).status).toBe(200);
  });

  test("a halted worker whose lease ran out meanwhile pushes in full when it goes on", async () => {
    eastWorker.process.signal("SIGSTOP");
    await eventualAnswer(gateway, "db.shop").toEqual(["10.2.0.1"]);
    eastWorker.process.signal("SIGCONT");
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1", "10.2.0.1"]);
  });

  test("while its API server is down a worker says that the cluster's state is not known, so its lease runs out", async () => {
    await east.process.kill();
    await eventualAnswer(gateway, "db.shop").toEqual(["10.2.0.1"]);
    await east.process.start();
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1", "10.2.0.1"]);
  });
});
