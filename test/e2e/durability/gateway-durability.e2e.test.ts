import { globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { slices, world } from "../commands/exported.ts";
import { acceptedPushes, answered, eventualAnswer, eventually } from "../harness/answers.ts";
import type { GatewayProcess, SyncProcess } from "../harness/processes.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";

describe("acknowledged data survives", () => {
  let clusters: SyncedClusters<"east">;
  let server: ApiServer;
  let gateway: GatewayProcess;
  let worker: SyncProcess;

  beforeAll(async () => {
    clusters = await startSyncedClusters(
      ["east"],
      ({ east }) => east.admin.apply(...world("shop", { web: { endpoints: ["10.1.0.1"] } })),
      { args: () => ["--lease", "600"] },
    );
    server = clusters.servers.east;
    gateway = clusters.gateway;
    worker = clusters.workers.east;
  });

  afterAll(() => clusters?.stop());

  const serve = (...endpoints: string[]) => server.admin.apply(...slices("shop", "web", { endpoints }));

  beforeEach(async () => {
    if (!gateway.process.isRunning) await gateway.restart();
    if (!worker.process.isRunning) await worker.restart();
    await serve("10.1.0.1");
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.1"]);
  });

  test("after kill -9 right after an acknowledged delta the restarted gateway answers from it, without a worker", async () => {
    await serve("10.1.0.2");
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.2"]);
    await gateway.kill();
    await worker.kill();
    await gateway.restart();
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.2"]);
    expect((await gateway.http("/readyz")).status).toBe(200);
  });

  test("after each of many kill -9 while deltas arrive the state is never older than the last acknowledgement", async () => {
    for (let round = 10; round < 14; round++) {
      await serve(`10.1.0.${round}`, "10.1.1.1");
      await eventualAnswer(gateway, "web.shop").toContain(`10.1.0.${round}`);
      const { generation } = await statusOf(gateway);
      await Promise.all([serve(`10.1.0.${round}`, "10.1.1.2"), gateway.kill()]);
      await gateway.restart();
      expect((await statusOf(gateway)).generation).toBeGreaterThanOrEqual(generation);
      expect(await answered(gateway, "web.shop")).toContain(`10.1.0.${round}`);
      await eventualAnswer(gateway, "web.shop").toEqual([`10.1.0.${round}`, "10.1.1.2"]);
    }
  });

  test("the worker keeps its state while the gateway is down, and pushes it afterwards", async () => {
    await gateway.kill();
    const logged = worker.log().length;
    await serve("10.1.0.5");
    await eventually(() => worker.log().slice(logged)).toMatch(/ECONNREFUSED/);
    await serve("10.1.0.6");
    await gateway.restart();
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.6"]);
  });

  test("a gateway that lost its state answers 409 and gets a full snapshot", async () => {
    await gateway.kill();
    for (const file of globSync(join(gateway.stateDir, "clusterset.db*"))) rmSync(file);
    await gateway.restart();
    expect((await gateway.http("/readyz")).status).toBe(503);
    expect(await answered(gateway, "web.shop")).toBe("SERVFAIL");
    await serve("10.1.0.7");
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.7"]);
    expect((await acceptedPushes(gateway)).full).toBeGreaterThan(0);
  });
});

function statusOf(gateway: GatewayProcess) {
  return gateway.clusterStatus<{ generation: number }>("east");
}
