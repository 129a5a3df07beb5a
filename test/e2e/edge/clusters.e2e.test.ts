import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { slices, world } from "../commands/exported.ts";
import { eventualAnswer, eventually, untilLive } from "../harness/answers.ts";
import { kubeconfigOfWorker } from "../harness/infra.ts";
import { type SyncProcess, startSync } from "../harness/processes.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import type { DevProcess } from "./harness/dev-process.ts";
import { startPlace } from "./place.ts";
import { see, seeUntil, tooLate } from "./watch.ts";
import { startWorker, type WorkerProcess } from "./wrangler.ts";

const ROUNDS = 5;
/** The kinds of pushes of a worker that nothing made begin anew. */
const DELTAS = new Set(["patch"]);
/** A little more than the bound. */
const IDLE_MS = 5500;

describe("two clusters of API servers and sync workers behind the Worker", () => {
  let east: ApiServer;
  let west: ApiServer;
  let worker: WorkerProcess;
  /** Where the object is not. */
  let place: DevProcess;
  const syncs: SyncProcess[] = [];

  beforeAll(async () => {
    [east, west, worker] = await Promise.all([
      startApiServer({ name: "east" }),
      startApiServer({ name: "west" }),
      startWorker({ clusters: ["east", "west"] }),
    ]);
    for (const [clusterId, server, net] of [
      ["east", east, "10.1"],
      ["west", west, "10.2"],
    ] as const) {
      const web = { headless: true, endpoints: [`${net}.0.1`] };
      await server.admin.apply(...world("shop", { web }));
      const kubeconfig = await kubeconfigOfWorker(server);
      // Renewed every 200 seconds: nothing but changes reaches the object.
      syncs.push(startSync({ clusterId, kubeconfig, gateways: [worker], args: ["--lease", "600"] }));
    }
    place = await startPlace(worker);
    await untilLive(worker, 2);
  });

  afterAll(async () => {
    await Promise.all(syncs.map((sync) => sync.stop()));
    await Promise.all([place?.stop(), east?.stop(), west?.stop()]);
    await worker?.stop();
  });

  const serve = (server: ApiServer, ...endpoints: string[]) =>
    server.admin.apply(...slices("shop", "web", { headless: true, endpoints }));
  const pushes = () => worker.events("pushed").map(({ kind }) => kind);

  beforeEach(async () => {
    await Promise.all([serve(east, "10.1.0.1"), serve(west, "10.2.0.1")]);
    for (const one of [worker, place]) await seeUntil(one, "web.shop", ["10.1.0.1", "10.2.0.1"]);
  });

  test("a change in an API server is answered in every location within the bound", async () => {
    await serve(east, "10.1.0.2");
    const expected = ["10.1.0.2", "10.2.0.1"];
    for (const seen of await Promise.all([worker, place].map((one) => seeUntil(one, "web.shop", expected))))
      expect(tooLate(seen, expected, worker)).toEqual([]);
  });

  test("after a pause the first answer after a change has the change, or is marked as stale", async () => {
    const before = pushes().length;
    await serve(east, "10.1.0.3");
    await eventually(() => pushes().length).toBeGreaterThan(before);
    await sleep(IDLE_MS);
    const expected = ["10.1.0.3", "10.2.0.1"];
    const first = await see(place, "web.shop");
    expect(tooLate([first, ...(await seeUntil(place, "web.shop", expected))], expected, worker)).toEqual([]);
  });

  test("many concurrent changes of both clusters are all answered, and each is a delta", async () => {
    const before = pushes().length;
    for (let round = 10; round < 10 + ROUNDS; round++) {
      const [one, other] = [`10.1.0.${round}`, `10.2.0.${round}`];
      await Promise.all([serve(east, one), serve(west, other)]);
      await eventualAnswer(worker, "web.shop").toEqual([one, other]);
      await eventualAnswer(worker, `${one.replaceAll(".", "-")}.east.web.shop`).toEqual([one]);
      await eventualAnswer(worker, `${other.replaceAll(".", "-")}.west.web.shop`).toEqual([other]);
    }
    const since = pushes().slice(before);
    expect(since.length).toBeGreaterThanOrEqual(2 * ROUNDS);
    expect(new Set(since)).toEqual(DELTAS);
  });

  test("a restarted sync worker pushes in full, and no answer is lost meanwhile", async () => {
    const before = pushes().length;
    expect(await syncs[0]?.stop()).toBe(0);
    expect((await see(worker, "web.shop")).answer).toEqual(["10.1.0.1", "10.2.0.1"]);
    await serve(east, "10.1.0.22");
    await syncs[0]?.restart();
    await eventualAnswer(worker, "web.shop").toEqual(["10.1.0.22", "10.2.0.1"]);
    expect(pushes()[before]).toBe("snapshot");
  });
});
