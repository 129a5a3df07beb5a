import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { eventualAnswer, eventually } from "../harness/answers.ts";
import { cliPath, runCli } from "../harness/cli.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, startGateway, startSync } from "../harness/processes.ts";
import { writeKubeconfig } from "../servers/kubernetes/kubeconfig.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { exported } from "./exported.ts";

const nobody = "https://127.0.0.1:9";

function manifestFolder(address: string, folder = temporaryFolder("manifests")): string {
  const metadata = { creationTimestamp: "2026-11-01T00:00:00Z" };
  const objects = exported("shop", "db", { headless: true, endpoints: [address] }).map((object) =>
    stringify({ ...object, metadata: { ...object.metadata, ...metadata } }),
  );
  writeFileSync(join(folder, "db.yaml"), objects.join("---\n"));
  return folder;
}

describe("long-running commands", () => {
  test("SIGTERM ends them with 0, also a worker without gateway and API server; the log is JSON lines", async () => {
    const gateway = await startGateway({ clusters: ["east"] });
    const options = { manifests: manifestFolder("10.1.0.1"), clusterId: "east" };
    const running = startSync({ ...options, gateways: [gateway] });
    const lost = startSync({ ...options, gateways: [{ ...gateway, url: nobody }] });
    const access = { url: nobody, caPath: gateway.caFile, token: "none" };
    const kubeconfig = writeKubeconfig(temporaryFolder("kubeconfig"), access);
    const blind = startSync({ kubeconfig, clusterId: "east", gateways: [gateway] });
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1"]);
    for (const { log } of [lost, blind]) await eventually(log).toContain("ECONNREFUSED");
    for (const worker of [running, lost, blind]) expect(await worker.stop()).toBe(0);
    expect(await gateway.stop()).toBe(0);
    for (const log of [running.log(), lost.log(), blind.log(), gateway.process.log()])
      for (const line of log.trim().split("\n"))
        expect(JSON.parse(line)).toMatchObject({
          level: expect.stringMatching(/^(?:info|warn|error)$/),
          time: expect.any(String),
          msg: expect.any(String),
        });
  });

  test("wait ends with 0 when a cluster has pushed, and with 1 and the reason when its time is up", async () => {
    const gateway = await startGateway({ clusters: ["east"] });
    const file = gateway.caFile;
    const wait = (...args: string[]) => runCli(["wait", "--server", gateway.url, "--ca-file", file, ...args]);
    const early = await wait("--timeout", "1", "db.shop");
    expect([early.code, early.stderr]).toEqual([
      1,
      expect.stringContaining("db.shop.svc.clusterset.local is not answered with records after 1 s:"),
    ]);
    const waiting = wait("shop/db");
    const worker = startSync({
      manifests: manifestFolder("10.1.0.9"),
      clusterId: "east",
      gateways: [gateway],
    });
    const server = gateway.url.replace("localhost", "127.0.0.1");
    const named = (name: string) =>
      runCli(["status", "--server", server, "--ca-file", file, "--server-name", name]);
    expect((await named("doh.example")).stderr).toMatch(/not for doh\.example \(--server-name\)/);
    expect((await named("localhost")).stdout).toContain("1 cluster");
    expect(await waiting).toMatchObject({ code: 0, stdout: expect.stringContaining("IN\tA\t10.1.0.9") });
    expect(await worker.stop()).toBe(0);
    expect(await gateway.stop()).toBe(0);
  });

  test("--watch prints each change as a line of JSON, says once that the gateway is away, and ends with 0 at Ctrl-C", async () => {
    const gateway = await startGateway({ clusters: ["east"] });
    const manifests = manifestFolder("10.1.0.1");
    const worker = startSync({ manifests, clusterId: "east", gateways: [gateway] });
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.1"]);
    const query = watch(gateway, "query", "shop/db");
    const explain = watch(gateway, "explain", "shop/db");
    const status = watch(gateway, "status");
    const commands = [query, explain, status];
    await eventually(() => query.printed.out).toContain("10.1.0.1");
    await eventually(() => explain.printed.out).toContain('"code":"ANSWERED"');
    await eventually(() => status.printed.out).toContain('"live":true');
    await gateway.stop();
    for (const { printed } of commands) await eventually(() => printed.err).toContain("cannot be reached");
    manifestFolder("10.1.0.2", manifests);
    await gateway.restart();
    for (const { printed } of [query, explain]) await eventually(() => printed.out).toContain("10.1.0.2");
    for (const { printed, interrupt } of commands) {
      expect(await interrupt()).toBe(0);
      expect(printed.err.match(/cannot be reached/g)).toHaveLength(1);
      for (const line of printed.out.trim().split("\n")) expect(JSON.parse(line)).toBeTypeOf("object");
    }
    expect(await worker.stop()).toBe(0);
    expect(await gateway.stop()).toBe(0);
  });

  test("a replaced token in a file is valid without a restart, and the old one no longer", async () => {
    const clock = new MovedClock({ timers: true });
    const { env } = clock;
    const gateway = await startGateway({ clusters: ["east"], env });
    const manifests = manifestFolder("10.1.0.3");
    const worker = startSync({ manifests, clusterId: "east", gateways: [gateway], env });
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.3"]);
    const old = gateway.tokenFor("east");
    const statusWith = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await gateway.http("/api/v1/clusters/east", { headers })).status;
    };
    writeFileSync(gateway.tokenFileFor("east"), randomBytes(32).toString("hex"));
    await eventually(clock.passing(() => statusWith(old))).toBe(401);
    expect(await statusWith(gateway.tokenFor("east"))).toBe(200);
    const renewedAt = async () => (await gateway.clusterStatus<{ renewedAt: number }>("east")).renewedAt;
    const changedAt = clock.now();
    await eventually(clock.passing(renewedAt)).toBeGreaterThan(changedAt);
    expect(await worker.stop()).toBe(0);
    expect(await gateway.stop()).toBe(0);
  });
});

/** A command that watches a gateway, and what it has printed. */
function watch({ url, caFile }: GatewayProcess, ...args: string[]) {
  const command = [cliPath, ...args, "-w", "-o", "json", "--server", url, "--ca-file", caFile];
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", process.execPath, ...command]);
  const printed = { out: "", err: "" };
  for (const [stream, name] of [
    [child.stdout, "out"],
    [child.stderr, "err"],
  ] as const)
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  const interrupt = async (): Promise<unknown> => {
    child.kill("SIGINT");
    return (await once(child, "close"))[0];
  };
  return { printed, interrupt };
}
