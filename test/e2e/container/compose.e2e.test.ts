import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { blocksIn } from "../../docs/pages.ts";
import { answered, eventualAnswer } from "../harness/answers.ts";
import { checkout, cliPath, runProgram } from "../harness/cli.ts";
import { type GatewayClient, gatewayClient } from "../harness/gateway-client.ts";
import { generationOf, put } from "../replica/many/harness/push-requests.ts";
import { certificateFor } from "../servers/certificate.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { runRedis } from "../servers/redis.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";

/** Those keys of the Compose specification that the file has. */
const Service = z.strictObject({
  image: z.string().regex(/^[\w./-]+:[\w.-]+$/),
  command: z.array(z.string()),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.literal("ALL")).optional(),
  security_opt: z.array(z.string()).optional(),
  restart: z.literal("unless-stopped"),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  depends_on: z.array(z.string()).optional(),
  configs: z.array(z.strictObject({ source: z.string(), target: z.string() })).optional(),
  secrets: z.array(z.string()),
  ports: z.array(z.string().regex(/^\d+:\d+$/)).optional(),
  volumes: z.array(z.string().regex(/^\w+:\/\w+$/)).optional(),
});
const Compose = z.strictObject({
  name: z.string(),
  "x-gateway": z.unknown(),
  services: z.record(z.string(), Service),
  configs: z.strictObject({ gateway: z.strictObject({ content: z.string() }) }),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
  volumes: z.strictObject({ valkey: z.strictObject({}) }),
});

const compose = Compose.parse(
  parse(readFileSync(join(checkout, "infra/container/compose.yaml"), "utf8"), { merge: true }),
);
const { valkey, ...gateways } = compose.services;
const content = compose.configs.gateway.content;
const folder = temporaryFolder("compose");
const running: ServerProcess[] = [];
let enginePort: number;

beforeAll(async () => {
  await ensureTool("redis-server");
  await certificateFor(folder);
  mkdirSync(join(folder, "bin"));
  const command = join(folder, "bin", "clusterset-doh");
  writeFileSync(command, `#!/bin/sh\nexec ${process.execPath} ${cliPath} "$@"\n`);
  chmodSync(command, 0o755);
  const [block] = blocksIn("docs/how-to/deploy/valkey.md", "sh").filter((text) =>
    text.includes("valkey.acl"),
  );
  const prepared = block!.split("docker ")[0]!;
  const environment = [`PATH=${join(folder, "bin")}:${process.env.PATH}`, "bash", "-ec", prepared];
  expect(await runProgram("env", environment, { cwd: folder })).toMatchObject({ code: 0 });
  enginePort = await freePort();
});

afterAll(async () => {
  await Promise.all(running.map((process) => process.stop()));
});

/** A text of the file, for processes of this machine. */
const here = (text: string) =>
  text
    .replaceAll("/run/secrets", folder)
    .replaceAll("redis://valkey:6379", `redis://127.0.0.1:${enginePort}`);

test("the file names what it defines, and the page makes every secret", () => {
  expect(Object.keys(gateways)).toEqual(["gateway-1", "gateway-2"]);
  for (const { secrets, configs, depends_on } of Object.values(compose.services)) {
    expect(Object.keys(compose.secrets)).toEqual(expect.arrayContaining(secrets));
    for (const { source } of configs ?? []) expect(Object.keys(compose.configs)).toContain(source);
    for (const service of depends_on ?? []) expect(Object.keys(compose.services)).toContain(service);
  }
  for (const { file } of Object.values(compose.secrets)) expect(readdirSync(folder)).toContain(file);
  const mounted = Object.values(gateways).flatMap(({ secrets }) => secrets);
  for (const [, file] of content.matchAll(/\/run\/secrets\/([\w.-]+)/g)) expect(mounted).toContain(file);
  for (const { ports, command, configs } of Object.values(gateways)) {
    expect(content).toContain(`listen: ":${ports![0]!.split(":")[1]}"`);
    expect(command).toEqual(["serve", "--config", configs![0]!.target]);
  }
});

test("the engine starts with its arguments, and both gateways are one", async () => {
  const [program, ...args] = valkey!.command;
  expect([program, valkey!.volumes]).toEqual(["valkey-server", ["valkey:/data"]]);
  const password = readFileSync(join(folder, "valkey-password"), "utf8").trim();
  const url = `redis://127.0.0.1:${enginePort}`;
  const data = temporaryFolder("compose-data");
  const place = ["--port", String(enginePort), "--bind", "127.0.0.1", "--dir", data];
  running.push(
    await ServerProcess.start({
      name: "redis",
      command: "redis-server",
      args: [...args.map(here), ...place],
      folder: data,
      ready: async () => String(await runRedis(url, password, ["INFO", "server"])).includes("redis_version"),
    }),
  );
  const [one, other] = [await startReplica(), await startReplica()];
  generationOf(await put(one, "east", { web: { addresses: ["10.1.0.1"] } }));
  await eventualAnswer(other, "web.shop").toEqual(["10.1.0.1"]);
  expect(await answered(one, "web.shop")).toEqual(["10.1.0.1"]);
});

async function startReplica(): Promise<GatewayClient> {
  const port = await freePort();
  const config = join(folder, `gateway-${port}.yaml`);
  writeFileSync(config, here(content).replace('":8443"', `"127.0.0.1:${port}"`));
  const client = gatewayClient(
    `https://localhost:${port}`,
    () => readFileSync(join(folder, "tls.crt"), "utf8"),
    (clusterId) => join(folder, `${clusterId}.token`),
  );
  running.push(
    await ServerProcess.start({
      name: "gateway",
      command: process.execPath,
      args: [cliPath, "serve", "--config", config],
      // The image has a volume for each container.
      folder: temporaryFolder("compose-gateway"),
      ready: async () => (await client.http("/healthz")).status === 200,
    }),
  );
  return client;
}
