import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksIn } from "../../../docs/pages.ts";
import { answered, eventualAnswer } from "../../harness/answers.ts";
import { checkout, runProgram } from "../../harness/cli.ts";
import { type GatewayClient, gatewayClient } from "../../harness/gateway-client.ts";
import { generationOf, put } from "../../replica/many/harness/push-requests.ts";
import { certificateFor } from "../../servers/certificate.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { freePort } from "../../servers/ports.ts";
import type { ServerProcess } from "../../servers/process.ts";
import { type Redis, startRedis } from "../../servers/redis.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { charts } from "./helm.ts";
import { startPod } from "./pod.ts";

const PAGE = "docs/how-to/deploy/valkey.md";
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
    startRedis(),
    certificateFor(folder),
  ]);
  const page = readFileSync(join(checkout, PAGE), "utf8");
  const [, rights] = /^ *ACL SETUSER gateway (.+)$/m.exec(page)!;
  await engine.run("ACL", "SETUSER", "gateway", ...rights!.replace("PASSWORD", PASSWORD).split(" "));
  await engine.run("ACL", "SETUSER", "default", "off");

  mkdirSync(join(folder, "bin"));
  for (const program of [await ensureTool("helm"), await ensureTool("kubectl")])
    symlinkSync(program, join(folder, "bin", program.split("/").at(-1)!));
  symlinkSync(join(checkout, "infra"), join(folder, "infra"));
  const files = { "valkey-password": `${PASSWORD}\n`, "valkey-authority.crt": certificate.cert };
  const tokens = { "east.token": "of-east-0123456789\n", "west.token": "of-west-0123456789\n" };
  for (const [name, text] of Object.entries({ ...files, ...tokens })) writeFileSync(join(folder, name), text);
  const cluster = {
    server: server.url,
    "certificate-authority-data": Buffer.from(server.ca).toString("base64"),
  };
  writeFileSync(
    join(folder, "kubeconfig"),
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "central", cluster }],
      contexts: [{ name: "central", context: { cluster: "central", user: "admin" } }],
      users: [{ name: "admin", user: { token: "admin-of-the-end-to-end-tests" } }],
    }),
  );
  await server.admin.apply(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "gateway-tls", namespace },
      stringData: { "tls.crt": certificate.cert, "tls.key": certificate.key },
    },
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
    replaced: { ":8443": `127.0.0.1:${port}`, "https://doh.example.org": `https://localhost:${port}` },
    ready: async () => (await client.http("/healthz")).status === 200,
  });
  running.push(pod);
  return client;
}

test(`the commands of ${PAGE} make a Deployment of two pods`, async () => {
  const [block] = blocksIn(PAGE, "sh").filter((text) => text.includes("helm "));
  const commands = block!.replace("rediss://valkey.example.org:6379", engine.url);
  const environment = [`PATH=${join(folder, "bin")}:${process.env.PATH}`, `HOME=${folder}`];
  const args = [...environment, `KUBECONFIG=${join(folder, "kubeconfig")}`, "bash", "-ec", commands];
  const { code, stderr } = await runProgram("env", args, { cwd: folder });
  expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/gateway`;
  expect(await server.admin.api("GET", path)).toMatchObject({ spec: { replicas: 2 } });
});

test("its pods are one gateway: what one of them is pushed each of them answers, also one that starts later", async () => {
  const [one, other] = await Promise.all([startReplica(), startReplica()]);
  expect((await one.http("/readyz")).status).toBe(503);
  generationOf(await put(one, "east", { web: { addresses: ["10.1.0.1"] } }));
  await eventualAnswer(other, "web.shop").toEqual(["10.1.0.1"]);
  expect(await answered(await startReplica(), "web.shop")).toEqual(["10.1.0.1"]);
});
