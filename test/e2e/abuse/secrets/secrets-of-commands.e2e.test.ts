import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../harness/answers.ts";
import { checkout, cliPath } from "../../harness/cli.ts";
import { gatewayClient } from "../../harness/gateway-client.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { type Certificate, certificateFor } from "../../servers/certificate.ts";
import { writeKubeconfig } from "../../servers/kubernetes/kubeconfig.ts";
import { freePort } from "../../servers/ports.ts";
import { ServerProcess } from "../../servers/process.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { Canaries } from "./canaries.ts";

const canaries = new Canaries();
const folder = temporaryFolder("secrets-of-commands");
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};

describe("a sync worker logs no secret at the level debug", () => {
  let gateway: GatewayProcess;
  let apiServer: Server;
  let certificate: Certificate;
  beforeAll(async () => {
    gateway = await startGateway({ clusters: ["east"] });
    certificate = await certificateFor(folder);
    apiServer = createServer(certificate, (_, response) => response.writeHead(401).end("Unauthorized"));
    await new Promise<void>((resolve) => apiServer.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    await gateway?.stop();
    apiServer?.close();
  });

  const mounted = () => {
    mkdirSync(join(folder, "manifests"), { recursive: true });
    return ["--manifests", join(folder, "manifests"), "--cluster-id", "east"];
  };
  const kubeconfig = () => {
    const { port } = apiServer.address() as AddressInfo;
    const token = canaries.make("token for the API server");
    const access = { url: `https://127.0.0.1:${port}`, caPath: certificate.certPath, token };
    return ["--kubeconfig", writeKubeconfig(folder, access), "--cluster-id", "east"];
  };
  const trusted = () => ["--gateway", gateway.url, "--ca-file", gateway.caFile];

  test.each<[string, () => string[], RegExp]>([
    ["with an unknown token", () => [...mounted(), ...trusted()], /UNKNOWN_TOKEN/],
    ["with an unreachable gateway", () => [...mounted(), "--gateway", "https://127.0.0.1:1"], /ECONNREFUSED/],
    ["that does not trust the gateway", () => [...mounted(), "--gateway", gateway.url], /certificate/i],
    ["with an API server that rejects it", () => [...kubeconfig(), ...trusted()], /401|Unauthorized/],
  ])("%s", async (title, args, event) => {
    const token = ["--token-file", file("token", canaries.make(title))];
    const worker = new ServerProcess({
      name: "sync",
      command: process.execPath,
      args: [cliPath, "sync", "--log-level", "debug", ...args(), ...token],
      folder: temporaryFolder("sync"),
      ready: async () => true,
    });
    worker.spawn();
    await eventually(() => worker.log()).toMatch(event);
    await worker.stop();
    expect(canaries.foundIn(title, worker.log())).toEqual([]);
  });
});

test("a secondary with an unreachable primary logs no secret", async () => {
  const deno = await ensureTool("deno");
  const port = await freePort();
  const nothing = () => "";
  const client = gatewayClient(`http://127.0.0.1:${port}`, nothing, nothing);
  const secondary = await ServerProcess.start({
    name: "secondary",
    command: deno,
    args: ["run", "-A", join(checkout, "src/hosts/deno/secondary.ts")],
    folder: temporaryFolder("secondary"),
    env: {
      CLUSTERSET_PRIMARY_URL: `https://127.0.0.1:${await freePort()}`,
      CLUSTERSET_TRANSFER_TOKEN: canaries.make("transfer token"),
      PUSH_CREDENTIALS: JSON.stringify([{ clusterId: "east", tokenSha256: "0f".repeat(32) }]),
      DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
    },
    ready: async () => (await client.http("/healthz")).status === 200,
  });
  const headers = {
    authorization: `Bearer ${canaries.make("push token")}`,
    "content-type": "application/x-ndjson",
  };
  const path = "/api/v1/clusters/east/snapshot";
  const answers = [
    await client.http("/readyz"),
    await client.http("/resolve?name=clusterset.local"),
    await client.http("/clusters"),
    await client.http("/", { headers }),
    await client.http("/resolve?name=clusterset.local", { headers }),
    await client.http(path, { method: "PUT", headers, body: "{}" }),
  ];
  await eventually(() => secondary.log()).toContain("push-not-forwarded");
  await secondary.stop();
  expect(answers.map(({ status }) => status)).toContain(502);
  for (const { text } of answers) expect(canaries.foundIn("an answer", text)).toEqual([]);
  expect(canaries.foundIn("the log", secondary.log())).toEqual([]);
});
