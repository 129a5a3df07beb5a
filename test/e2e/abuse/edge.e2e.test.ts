import { join } from "node:path";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attackQueries } from "../../resolve/hostile/attack-queries.ts";
import { LINES_TYPE, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { ZONE } from "../clients/listening-gateway.ts";
import { startWorker, type WorkerProcess } from "../edge/wrangler.ts";
import { startGateway } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { METHODS, pathsWith, type Route, routesOf } from "./paths/routes.ts";

const { exports: own, ...parts } = shopSnapshot("east");
/** With the services that the queries of attacks are for. */
const EAST = { ...parts, exports: { ...own, "shop/big": headlessExport(300) } };

describe("the Worker in workerd under attack", () => {
  let worker: WorkerProcess;
  /** Those of a gateway on Node: the Worker has all of them, or answers that there is nothing. */
  let routes: Route[];
  const kept = new Agent();
  beforeAll(async () => {
    const gateway = await startGateway({ clusters: ["east"] });
    routes = await routesOf(gateway, join(temporaryFolder("routes"), "state"));
    await gateway.stop();
    worker = await startWorker({ clusters: ["east", "west"], config: { zones: [ZONE] } });
    const path = "/api/v1/clusters/east/snapshot?leaseSeconds=600";
    expect(await send("PUT", path, "east", EAST)).toBe(200);
  });
  afterAll(async () => {
    await kept.destroy();
    await worker?.stop();
    expect(worker?.events("request-failed")).toEqual([]);
  });

  /** @param of whose token is shown */
  async function send(
    method: string,
    path: string,
    of: string | undefined,
    snapshot = shopSnapshot("east"),
  ): Promise<number> {
    const sends = method !== "GET" && method !== "HEAD";
    const { status, text } = await worker.http(path, {
      method,
      dispatcher: kept,
      headers: {
        "content-type": LINES_TYPE,
        ...(of !== undefined && { authorization: `Bearer ${worker.tokenFor(of)}` }),
      },
      ...(sends && { body: Buffer.from(snapshotBody(snapshot)) }),
    });
    for (const id of ["east", "west"]) expect(text).not.toContain(worker.tokenFor(id));
    return status;
  }

  test.each(attackQueries)("$title", async ({ query, gets }) => {
    const { statusCode, body } = await request(`${worker.url}/dns-query`, {
      method: "POST",
      headers: { "content-type": "application/dns-message" },
      body: query,
    });
    const answer = Buffer.from(await body.arrayBuffer());
    expect([statusCode, statusCode === 200 && answer[3]! & 15]).toEqual(
      gets === "no query" ? [400, false] : [200, gets],
    );
  });

  test("a credential opens nothing for another cluster, and changes nothing", async () => {
    const before = await worker.clusterStatus("east");
    let refused = 0;
    for (const path of pathsWith(routes, "east"))
      for (const method of METHODS) {
        const [anonymous, known] = [await send(method, path, undefined), await send(method, path, "west")];
        const where = `${method} ${path}: ${known}, ${anonymous} for anybody`;
        if (anonymous === 401) {
          expect([where, known]).toEqual([where, 403]);
          refused++;
        } else expect([where, known]).toEqual([where, anonymous]);
      }
    expect(refused).toBeGreaterThanOrEqual(6);
    expect(await worker.clusterStatus("east")).toEqual(before);
  });
});
