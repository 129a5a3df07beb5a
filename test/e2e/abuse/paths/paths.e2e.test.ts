import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LINES_TYPE, pushed, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { emptySnapshot, shopSnapshot } from "../../../snapshot/worlds.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { filesOf } from "./files.ts";
import { RawRequests } from "./raw-requests.ts";
import { METHODS, pathsWith, type Route, routesOf } from "./routes.ts";
import { traversals } from "./traversal.ts";

const CANARY = "canary-beside-the-state";
/** What files of the machine and of the gateway hold that no answer may. */
const CONTENTS = [CANARY, "root:x:0:0", "PRIVATE KEY", "tokenFile"];

/** Requests at the same time. */
const STREAMS = 64;

describe("text in the place of cluster ids, on every route", () => {
  let gateway: GatewayProcess;
  let client: RawRequests;
  let routes: Route[];
  beforeAll(async () => {
    const folder = temporaryFolder("paths");
    writeFileSync(join(folder, "secret.txt"), CANARY);
    gateway = await startGateway({
      clusters: ["east", "west"],
      stateDir: join(folder, "state"),
      leaseSeconds: 600,
      config: {
        paths: [{ path: "/extra", outsideZones: "nxdomain" }],
        transfer: { credentials: [{ tokenSha256: "0f".repeat(32) }] },
      },
    });
    for (const id of ["east", "west"]) expect((await push(id, "PUT", id, shopSnapshot(id))).status).toBe(200);
    client = await RawRequests.open({ port: Number(new URL(gateway.url).port), ca: gateway.ca });
    routes = await routesOf(gateway, join(temporaryFolder("routes"), "state"));
  });
  afterAll(async () => {
    client?.close();
    await gateway?.stop();
  });

  const fields = (token: string) => ({
    authorization: `Bearer ${token}`,
    "content-type": LINES_TYPE,
  });
  const push = (token: string, method: string, id: string, body: object) =>
    gateway.http(...pushed(method, `/api/v1/clusters/${id}/snapshot`, body, fields(gateway.tokenFor(token))));

  test("the list of routes equals the application's", () => {
    const paths = routes.map(({ path }) => path);
    for (const path of ["/dns-query", "/resolve", "/extra", "/clusters/:clusterId/dns-query", "/setup"])
      expect(paths).toContain(path);
    expect(paths).toContain("/api/v1/clusters/:clusterId/snapshot");
    expect(paths).toContain("/api/v1/transfer/segments/:hash");
  });

  test.each(traversals)("%j has no effect, and creates no file", async (id) => {
    const root = dirname(gateway.stateDir);
    const before = { files: filesOf(root), clusters: await clusters() };
    const body = Buffer.from(snapshotBody(emptySnapshot(id)));
    const asked = pathsWith(routes, id).flatMap((path) => METHODS.map((method) => ({ path, method })));
    const own = gateway.tokenFor("east");
    const failures: string[] = [];
    for (let start = 0; start < asked.length; start += STREAMS)
      await Promise.all(
        asked.slice(start, start + STREAMS).map(async ({ path, method }) => {
          const sends = method !== "GET" && method !== "HEAD";
          const { status, text } = await client.send({
            method,
            path,
            fields: fields(own),
            ...(sends && { body }),
          });
          // Google's JSON form answers methods that it does not have with 501.
          const isFailure = status >= 500 && status !== 501;
          const revealed = [...CONTENTS, own].filter((content) => text.includes(content));
          if (isFailure || revealed.length > 0) failures.push(`${method} ${path}: ${status} ${revealed}`);
        }),
      );
    expect(failures).toEqual([]);
    expect({ files: filesOf(root), clusters: await clusters() }).toEqual(before);
  });

  async function clusters(): Promise<string[]> {
    const seen = [];
    for (const id of ["east", "west"]) {
      const { generation } = await gateway.clusterStatus<{ generation: number }>(id);
      seen.push(`${id} ${generation}`);
    }
    return [...seen, (await gateway.http("/readyz")).text];
  }
});
