import { randomBytes } from "node:crypto";
import { appendFileSync, globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pushed } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { slices, world } from "../commands/exported.ts";
import { acceptedPushes, answered, eventualAnswer, eventually } from "../harness/answers.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";

describe("acknowledged data survives", () => {
  let clusters: SyncedClusters<"east">;
  let server: ApiServer;
  let gateway: GatewayProcess;
  let worker: SyncProcess;

  beforeAll(async () => {
    clusters = await startSyncedClusters(["east"], ({ east }) =>
      east.admin.apply(...world("shop", { web: { endpoints: ["10.1.0.1"] } })),
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

  test("a torn tail of the journal is dropped, the records before it are served, and pushes continue", async () => {
    await serve("10.1.0.3");
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.3"]);
    await worker.kill();
    await gateway.kill();
    const journals = globSync(join(gateway.stateDir, "**/*journal*"), { withFileTypes: true }).filter(
      (entry) => entry.isFile(),
    );
    expect(journals).not.toHaveLength(0);
    for (const { parentPath, name } of journals) appendFileSync(join(parentPath, name), randomBytes(100));
    await gateway.restart();
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.3"]);
    await worker.restart();
    await serve("10.1.0.4");
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.4"]);
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
    rmSync(join(gateway.stateDir, "snapshots"), { recursive: true });
    await gateway.restart();
    expect((await gateway.http("/readyz")).status).toBe(503);
    expect(await answered(gateway, "web.shop")).toBe("SERVFAIL");
    await serve("10.1.0.7");
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.7"]);
    expect((await acceptedPushes(gateway)).full).toBe(1);
  });

  test("of two gateways of one worker, one that is down does not delay the other, and catches up", async () => {
    const other = await startGateway({ clusters: ["east"], tokensOf: gateway });
    const both = [gateway, other];
    const shared = startSync({ clusterId: "east", kubeconfig: server.kubeconfig(), gateways: both });
    await worker.kill();
    for (const each of both) await eventualAnswer(each, "web.shop").toEqual(["10.1.0.1"]);
    await gateway.kill();
    await serve("10.1.0.8");
    await eventualAnswer(other, "web.shop").toEqual(["10.1.0.8"]);
    await gateway.restart();
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.8"]);
    expect(await shared.stop()).toBe(0);
    expect(await other.stop()).toBe(0);
  });
});

describe("journals are compacted", () => {
  /** Makes a delta long: journals are compacted from 32 KiB on. */
  const padding = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`key-${at}`, "x".repeat(200)]));
  /** The one endpoint after a change, in an export whose annotations all change. */
  const deltaOf = (change: number) => ({
    exports: {
      "shop/web": {
        exportedAnnotations: { ...padding, change: `${change}` },
        endpoints: {
          "http/TCP/8080": {
            members: { [addressOf(change - 1)]: null, [addressOf(change)]: { address: addressOf(change) } },
          },
        },
      },
    },
  });
  const addressOf = (change: number) => `10.7.${change >> 8}.${change & 255}`;

  test("after each of many kill -9 meanwhile the last acknowledged change is answered, or the one in flight", async () => {
    const gateway = await startGateway({ clusters: ["west"] });
    const path = "/api/v1/clusters/west/snapshot?leaseSeconds=600";
    const authorization = `Bearer ${gateway.tokenFor("west")}`;
    const send = (method: string, body: object) =>
      gateway.http(...pushed(method, path, body, { authorization }));
    try {
      const first = shopSnapshot("west", 0);
      const [group] = Object.values(first.exports["shop/web"]!.endpoints);
      Object.assign(group!.members, { [addressOf(0)]: { address: addressOf(0) } });
      expect((await send("PUT", first)).status).toBe(200);
      const numbers = new Set<string>();
      let change = 0;
      for (let round = 0; round < 8; round++) {
        let { generation } = await gateway.clusterStatus<{ generation: number }>("west");
        for (const last = change + 3 + round; change < last; ) {
          const answer = await send("PATCH", { baseGeneration: generation, patch: deltaOf(change + 1) });
          expect(answer.status).toBe(200);
          ({ generation } = answer.json<{ generation: number }>());
          change++;
        }
        const inFlight = send("PATCH", { baseGeneration: generation, patch: deltaOf(change + 1) }).catch(
          () => {},
        );
        await Promise.all([inFlight, gateway.kill()]);
        for (const file of globSync(join(gateway.stateDir, "snapshots/clusters/west/*.snapshot")))
          numbers.add(file);
        await gateway.restart();
        expect(gateway.process.log()).not.toContain("store-damage");
        const [answer] = (await answered(gateway, "web.shop")) as string[];
        expect([addressOf(change), addressOf(change + 1)]).toContain(answer);
        if (answer === addressOf(change + 1)) change++;
      }
      expect(numbers.size).toBeGreaterThan(3);
    } finally {
      await gateway.stop();
    }
  });
});

function statusOf(gateway: GatewayProcess) {
  return gateway.clusterStatus<{ generation: number }>("east");
}
