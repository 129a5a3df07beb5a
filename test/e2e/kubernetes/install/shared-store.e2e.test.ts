import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answered, eventualAnswer } from "../../harness/answers.ts";
import { type GatewayClient, gatewayClient } from "../../harness/gateway-client.ts";
import { certificateFor } from "../../servers/certificate.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import type { KubeObject } from "../../servers/kubernetes/objects.ts";
import { freePort } from "../../servers/ports.ts";
import type { ServerProcess } from "../../servers/process.ts";
import { type Redis, startRedis } from "../../servers/redis.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { generationOf, put } from "../../store/many/harness/push-requests.ts";
import { charts, rendered } from "./helm.ts";
import { startPod } from "./pod.ts";

const { namespace } = charts.gateway;
const PASSWORD = "of-the-engine";
const folder = temporaryFolder("shared-store");
const running: ServerProcess[] = [];
let server: ApiServer;
let engine: Redis;
let certificate: Awaited<ReturnType<typeof certificateFor>>;

beforeAll(async () => {
  [server, engine, certificate] = await Promise.all([
    startApiServer({ crds: false }),
    startRedis(["--requirepass", PASSWORD], PASSWORD),
    certificateFor(folder),
  ]);
  writeFileSync(join(folder, "east.token"), "of-east-0123456789\n");
  const secret = (name: string, data: Record<string, string>): KubeObject => ({
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name, namespace } },
    stringData: data,
  });
  await server.admin.apply(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    secret("gateway-tls", { "tls.crt": certificate.cert, "tls.key": certificate.key }),
    secret("gateway-store", { password: `${PASSWORD}\n` }),
    ...rendered("gateway", {
      "store.url": engine.url,
      "clusters.east.token": "of-east-0123456789",
    }),
  );
});

afterAll(async () => {
  await Promise.all(running.map((process) => process.stop()));
  await Promise.all([server?.stop(), engine?.process.stop()]);
});

async function startReplica(): Promise<GatewayClient> {
  const port = await freePort();
  const client = gatewayClient(
    `https://localhost:${port}`,
    () => certificate.cert,
    (clusterId) => join(folder, `${clusterId}.token`),
  );
  const pod = await startPod(server, namespace, "deployments", "gateway", {
    replaced: { ":8443": `127.0.0.1:${port}` },
    ready: async () => (await client.http("/healthz")).status === 200,
  });
  running.push(pod);
  return client;
}

test("the pods of the Deployment are one gateway: what one of them is pushed each of them answers, also one that starts later", async () => {
  const [one, other] = await Promise.all([startReplica(), startReplica()]);
  expect((await one.http("/readyz")).status).toBe(503);
  generationOf(await put(one, "east", { web: { addresses: ["10.1.0.1"] } }));
  await eventualAnswer(other, "web.shop").toEqual(["10.1.0.1"]);
  expect(await answered(await startReplica(), "web.shop")).toEqual(["10.1.0.1"]);
});
