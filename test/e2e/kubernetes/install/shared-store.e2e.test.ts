import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksIn } from "../../../docs/pages.ts";
import { answered, eventualAnswer } from "../../harness/answers.ts";
import { checkout } from "../../harness/cli.ts";
import { type GatewayClient, gatewayClient } from "../../harness/gateway-client.ts";
import { generationOf, put } from "../../replica/many/harness/push-requests.ts";
import { certificateFor } from "../../servers/certificate.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { freePort } from "../../servers/ports.ts";
import type { ServerProcess } from "../../servers/process.ts";
import { type Redis, startRedis } from "../../servers/redis.ts";
import { charts } from "./helm.ts";
import { startPod } from "./pod.ts";
import { type Reader, startReader } from "./reader.ts";

const PAGE = "docs/how-to/deploy/valkey.md";
const { namespace } = charts.gateway;
const PASSWORD = "of-the-engine";
const running: ServerProcess[] = [];
let reader: Reader;
let folder: string;
let server: ApiServer;
let engine: Redis;
let certificate: Awaited<ReturnType<typeof certificateFor>>;

beforeAll(async () => {
  reader = await startReader();
  folder = reader.folder;
  [server, engine, certificate] = await Promise.all([
    startApiServer({ crds: false }),
    startRedis(),
    certificateFor(folder),
  ]);
  const page = readFileSync(join(checkout, PAGE), "utf8");
  const [, rights] = /^ *ACL SETUSER gateway (.+)$/m.exec(page)!;
  await engine.run("ACL", "SETUSER", "gateway", ...rights!.replace("PASSWORD", PASSWORD).split(" "));
  await engine.run("ACL", "SETUSER", "operator", "on", `>${PASSWORD}`, "~*", "+@all");
  await engine.run("ACL", "SETUSER", "default", "off");

  const files = { "valkey-password": `${PASSWORD}\n`, "valkey-authority.crt": certificate.cert };
  const tokens = { "east.token": "of-east-0123456789\n", "west.token": "of-west-0123456789\n" };
  for (const [name, text] of Object.entries({ ...files, ...tokens })) writeFileSync(join(folder, name), text);
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
  await reader.expectRun(commands, { central: server });
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

test("docs/how-to/uninstall.md leaves no key and no user", async () => {
  await Promise.all(running.splice(0).map((process) => process.stop()));
  const [block] = blocksIn("docs/how-to/uninstall.md", "sh").filter((text) => text.includes("valkey-cli"));
  const cli = `redis-cli -p ${engine.port} --user operator --pass ${PASSWORD} --no-auth-warning`;
  const run = async (commands: string) =>
    (await reader.expectRun(commands.replaceAll("valkey-cli", cli), {})).trim();
  expect(await run("valkey-cli dbsize; valkey-cli acl users")).toMatch(/^[1-9]\d*\n.*\ngateway\n/s);
  await run(block!);
  expect(await run("valkey-cli dbsize; valkey-cli acl users")).toBe("0\ndefault\noperator");
});
