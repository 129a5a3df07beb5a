import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { eventually } from "../harness/answers.ts";
import type { DevProcess } from "./harness/dev-process.ts";
import { startPlace } from "./place.ts";
import { see, seeUntil } from "./watch.ts";
import { startWorker, type WorkerProcess } from "./wrangler.ts";

describe("after a failure behind a location what is in memory answers, marked as stale", () => {
  let worker: WorkerProcess;
  /** Where the object is not. */
  let place: DevProcess;

  beforeAll(async () => {
    worker = await startWorker({ clusters: ["west"] });
    await push(worker, "west", 1);
    place = await startPlace(worker);
  });

  afterAll(async () => {
    await place?.stop();
    await worker?.stop();
  });

  const untilStale = (name = "web.shop") => eventually(() => see(place, name));

  test("an object that is unreachable for a while", async () => {
    await seeUntil(place, "web.shop", ["10.0.0.0"]);
    // Names are denied from a list of what exists.
    expect(await see(place, "somebody.shop")).toMatchObject({ answer: "NXDOMAIN" });
    await worker.kill();
    await untilStale().toMatchObject({ answer: ["10.0.0.0"], stale: true });
    expect(await see(place, "nobody.shop")).toMatchObject({ answer: "NXDOMAIN", stale: true });
    const { headers, json } = await place.http(`/resolve?name=web.shop.svc.clusterset.test`);
    expect(json<{ Comment: string }>().Comment).toMatch(/stale: the primary last answered \d+ s ago/);
    expect(headers["cache-control"]).toMatch(/max-age=[01]$/);
    expect(await place.http("/readyz")).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^ready: .* stale: the primary last answered/),
    });
    await eventually(() => place.events("transfer-failed")).not.toEqual([]);
    await eventually(() => place.events("stale")).toMatchObject([
      { level: "warn", since: expect.any(Number) },
    ]);
    expect(await place.push(shopSnapshot("west"))).toMatchObject({
      status: 503,
      headers: { "retry-after": "5" },
    });
    await eventually(() => place.events("push-not-forwarded")).toMatchObject([
      { level: "error", clusterId: "west" },
    ]);

    await worker.restart();
    await push(worker, "west", 2);
    await seeUntil(place, "web.shop", ["10.0.0.0", "10.0.0.1"]);
    await eventually(() => place.events("fresh-again")).not.toEqual([]);
  });
});

/** Pushes `shop/web` with that many endpoints: 10.0.0.0, 10.0.0.1, … */
async function push(gateway: DevProcess, clusterId: string, endpoints: number): Promise<void> {
  const answer = await gateway.push(shopSnapshot(clusterId, endpoints), { leaseSeconds: 600 });
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
}
