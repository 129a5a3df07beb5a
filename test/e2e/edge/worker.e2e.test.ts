import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LINES_TYPE, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { answered, eventually } from "../harness/answers.ts";
import { startWorker, type WorkerProcess } from "./wrangler.ts";

const NAME = "web.shop";

const authorization = (worker: WorkerProcess, clusterId: string) => ({
  authorization: `Bearer ${worker.tokenFor(clusterId)}`,
});

describe("the Worker in workerd, with its Durable Object", () => {
  let worker: WorkerProcess;

  beforeAll(async () => {
    worker = await startWorker({ clusters: ["west", "east"] });
  });

  afterAll(() => worker?.stop());

  test("a push without the cluster's token is rejected before the object starts", async () => {
    const put = (path: string, headers: Record<string, string>) =>
      worker.http(path, {
        method: "PUT",
        headers: { ...headers, "content-type": LINES_TYPE },
        body: Buffer.from(snapshotBody(shopSnapshot("west"))),
      });
    const path = "/api/v1/clusters/west/snapshot";
    expect((await put(path, {})).status).toBe(401);
    expect((await put(path, { authorization: "Bearer wrong" })).status).toBe(401);
    expect((await put(path, authorization(worker, "east"))).status).toBe(403);
    expect((await worker.http("/api/v1/transfer/state")).status).toBe(404);
    expect(worker.events("object-started")).toEqual([]);
  });

  test("a restart and a kill lose no acknowledged data", async () => {
    await worker.pushShop("west", 3);
    await worker.restart();
    expect(await answered(worker, NAME)).toEqual(["10.0.0.0", "10.0.0.1", "10.0.0.2"]);
    const { generation } = await worker.pushShop("west", 1);
    await worker.kill();
    await worker.restart();
    expect(await answered(worker, NAME)).toEqual(["10.0.0.0"]);
    expect(await worker.clusterStatus("west")).toMatchObject({ generation, live: true });
  });

  test("an evicted object continues from its storage", async () => {
    const { generation } = await worker.pushShop("west", 2);
    await worker.evict();
    expect(await worker.clusterStatus("west")).toMatchObject({ generation, live: true });
    expect(await answered(worker, NAME)).toEqual(["10.0.0.0", "10.0.0.1"]);
  });

  test("the alarm expires a lease without queries, also after the object's eviction", async () => {
    await worker.pushShop("west", 1);
    // Three times what an idle object is kept for: a query here, or a slow machine, would keep it until its
    // alarm.
    const { expiresAt } = await worker.pushShop("east", 2, 30);
    const starts = worker.events("object-started").length;
    await eventually(() => worker.events("lease-expired")).toMatchObject([
      { clusterId: "east", expiredAt: expiresAt },
    ]);
    expect(worker.events("object-started").length).toBeGreaterThan(starts);
    expect(await answered(worker, NAME)).toEqual(["10.0.0.0"]);
  });

  test("a wrong setting is named only in the log, and loses no stored data", async () => {
    await worker.pushShop("west", 2);
    await worker.stop();
    const right = readFileSync(worker.variables, "utf8");
    const wrong = JSON.stringify({ zone: ["clusterset.test"], lease: { minimumSeconds: "5" } });
    writeFileSync(worker.variables, `${right}CONFIG='${wrong}'\n`);
    worker.process.spawn();
    try {
      await eventually(async () => (await worker.http("/readyz")).status).toBe(500);
      const { text } = await worker.http("/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB");
      expect(text).not.toContain("zone");
      const message = () => String(worker.events("not-configured")[0]?.message);
      await eventually(message).toContain("CONFIG.zone: this key does not exist");
      expect(message()).toContain("CONFIG.lease.minimumSeconds: ");
      await worker.stop();
    } finally {
      writeFileSync(worker.variables, right);
    }
    await worker.restart();
    expect(await answered(worker, NAME)).toEqual(["10.0.0.0", "10.0.0.1"]);
  });
});
