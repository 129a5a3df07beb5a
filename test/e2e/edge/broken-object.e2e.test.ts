import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { type Answered, eventually } from "../harness/answers.ts";
import { type GatewayClient, shorten } from "../harness/gateway-client.ts";
import type { DevProcess } from "./harness/dev-process.ts";
import { startPlace } from "./place.ts";
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

  const untilSeen = (answer: string[], stale: boolean) =>
    eventually(() => see(place, "web.shop")).toEqual({ answer, stale });

  test("an object that is unreachable for a while", async () => {
    await untilSeen(["10.0.0.0"], false);
    // Names are denied from a list of what exists.
    expect(await see(place, "somebody.shop")).toMatchObject({ answer: "NXDOMAIN" });
    const before = place.events("stale").length;
    await worker.kill();
    await untilSeen(["10.0.0.0"], true);
    expect(await see(place, "nobody.shop")).toMatchObject({ answer: "NXDOMAIN", stale: true });
    const { headers, json } = await place.http(`/resolve?name=web.shop.svc.clusterset.test`);
    expect(json<{ Comment: string }>().Comment).toMatch(/stale: the primary last answered \d+ s ago/);
    expect(headers["cache-control"]).toMatch(/max-age=[01]$/);
    expect(await place.http("/readyz")).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^ready: .* stale: the primary last answered/),
    });
    await eventually(() => place.events("transfer-failed")).not.toEqual([]);
    await eventually(() => place.events("stale").slice(before)).toMatchObject([
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
    await untilSeen(["10.0.0.0", "10.0.0.1"], false);
    await eventually(() => place.events("fresh-again")).not.toEqual([]);
  });
});

/** Pushes `shop/web` with that many endpoints: 10.0.0.0, 10.0.0.1, … */
async function push(gateway: DevProcess, clusterId: string, endpoints: number): Promise<void> {
  const answer = await gateway.push(shopSnapshot(clusterId, endpoints), { leaseSeconds: 600 });
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
}

/** Extended DNS Errors 3 and 19 (RFC 8914 sections 4.4 and 4.20). */
const STALE = [3, 19];

/** The addresses of a name without its `.svc.clusterset.test`, and whether they are marked as stale. */
async function see(gateway: GatewayClient, name: string): Promise<{ answer: Answered; stale: boolean }> {
  const answer = await gateway.query(`${name}.svc.clusterset.test`, "A");
  const { rcode, values } = shorten(answer);
  const found = values.length > 0 ? values : "NODATA";
  const stale = STALE.includes(extendedErrors(answer.raw)[0] ?? -1);
  return { answer: rcode === "NOERROR" ? found : rcode, stale };
}
