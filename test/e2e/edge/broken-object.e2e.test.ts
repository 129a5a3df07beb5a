import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FORMAT_VERSION } from "../../../src/zone/segment/layout.ts";
import { LINES_TYPE, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { eventually } from "../harness/answers.ts";
import { checkout } from "../harness/cli.ts";
import { type SyncProcess, startSync } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import type { DevProcess } from "./harness/dev-process.ts";
import { buildNextFormat } from "./next-format.ts";
import { openObjectFile } from "./object-file.ts";
import { startPlace } from "./place.ts";
import { see, seeUntil } from "./watch.ts";
import { startWorker, type WorkerProcess } from "./wrangler.ts";

/** Of the sync worker; it renews three times as often. */
const LEASE_SECONDS = 9;

describe("after a failure behind a location the last good generation answers, marked as stale", () => {
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
    expect(await tryPush(place, "west", 2)).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
    await eventually(() => place.events("push-not-forwarded")).toMatchObject([
      { level: "error", clusterId: "west" },
    ]);

    await worker.restart();
    await push(worker, "west", 2);
    await seeUntil(place, "web.shop", ["10.0.0.0", "10.0.0.1"]);
    await eventually(() => place.events("fresh-again")).toHaveLength(1);
  });

  test("an object with roots of another format version, until a rollback", async () => {
    const before = place.events("part-rejected").length;
    await worker.stop();
    const { folder } = worker;
    const script = await buildNextFormat(temporaryFolder("next-format"));
    const next = await startWorker({ folder, script, clusters: ["west"] });
    try {
      await push(next, "west", 3);
      await seeUntil(next, "web.shop", ["10.0.0.0", "10.0.0.1", "10.0.0.2"]);
      await untilStale().toMatchObject({ answer: ["10.0.0.0", "10.0.0.1"], stale: true });
      const error = `format version ${FORMAT_VERSION + 1}; this program reads ${FORMAT_VERSION}`;
      await eventually(() => place.events("part-rejected").slice(before)).toMatchObject([
        { level: "error", part: "root", hash: expect.any(String), message: expect.stringContaining(error) },
      ]);
    } finally {
      await next.stop();
    }
    await worker.restart();
    await push(worker, "west", 4);
    await seeUntil(place, "web.shop", ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  });
});

describe("an altered row of one cluster", () => {
  let worker: WorkerProcess;
  let sync: SyncProcess;

  beforeAll(async () => {
    worker = await startWorker({ clusters: ["west", "cluster-a"] });
    await push(worker, "west", 1);
    const args = ["--lease", String(LEASE_SECONDS)];
    const manifests = join(checkout, "examples/cluster-a");
    sync = startSync({ clusterId: "cluster-a", manifests, gateways: [worker], args });
    await seeUntil(worker, "web.shop", ["10.0.0.0", "10.1.0.10", "10.1.0.11"]);
  });

  afterAll(async () => {
    await sync?.stop();
    await worker?.stop();
  });

  test("affects only that cluster, is logged, and its sync worker pushes in full by itself", async () => {
    sync.process.signal("SIGSTOP");
    await worker.stop();
    const file = openObjectFile(worker);
    const { changes } = file
      .prepare(
        "UPDATE cluster_rows SET body = zeroblob(length(body)) WHERE cluster_id = 'cluster-a' AND name = 'exports/shop/web'",
      )
      .run();
    file.close();
    expect(changes).toBeGreaterThan(0);
    await worker.restart();
    // Until the snapshots are loaded, the stored generation answers, which is sound.
    await seeUntil(worker, "web.shop", ["10.0.0.0"]);
    expect(await see(worker, "web.shop")).toMatchObject({ answer: ["10.0.0.0"], stale: false });
    await expect(worker.clusterStatus("cluster-a")).rejects.toThrow("404");
    await eventually(() => worker.events("store-damage")).toMatchObject([
      { level: "warn", code: "CORRUPT_SNAPSHOT", clusterId: "cluster-a" },
    ]);
    sync.process.signal("SIGCONT");
    await seeUntil(worker, "web.shop", ["10.0.0.0", "10.1.0.10", "10.1.0.11"]);
    expect(worker.events("pushed").filter(({ clusterId }) => clusterId === "cluster-a")).toMatchObject([
      { kind: "snapshot" },
      { kind: "snapshot" },
    ]);
    await worker.restart();
    await seeUntil(worker, "web.shop", ["10.0.0.0", "10.1.0.10", "10.1.0.11"]);
    expect(worker.events("store-damage")).toHaveLength(1);
  });
});

async function push(gateway: DevProcess, clusterId: string, endpoints: number): Promise<void> {
  const answer = await tryPush(gateway, clusterId, endpoints);
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
}

/** Pushes `shop/web` with that many endpoints: 10.0.0.0, 10.0.0.1, … */
function tryPush(gateway: DevProcess, clusterId: string, endpoints: number) {
  return gateway.http(`/api/v1/clusters/${clusterId}/snapshot?leaseSeconds=600`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${gateway.tokenFor(clusterId)}`,
      "content-type": LINES_TYPE,
    },
    body: Buffer.from(snapshotBody(shopSnapshot(clusterId, endpoints))),
  });
}
