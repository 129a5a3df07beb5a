import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "./answers.ts";
import { runCli } from "./cli.ts";
import { startGateway, startSync } from "./processes.ts";
import { temporaryFolder } from "./servers/folders.ts";

describe("the commands", () => {
  test.each(["serve", "sync", "check", "token", "demo"])("%s --help has an example", async (command) => {
    const { code, stdout } = await runCli([command, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Examples?:\n {2}clusterset-doh /);
  });

  test("a wrong command line is exit code 2 with the reason", async () => {
    for (const [args, reason] of [
      [["serv"], "serv"],
      [["serve", "--listen", "nowhere"], "nowhere"],
      [["serve", "--config", "/nonexistent.yaml"], "/nonexistent.yaml"],
      [["sync", "--gateway", "https://localhost:1"], "--token-file"],
      [["check"], "inputs"],
    ] as const)
      expect(await runCli([...args])).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
  });

  test("a config file with a wrong key: the error names file, line and key", async () => {
    const file = join(temporaryFolder("config"), "gateway.yaml");
    writeFileSync(file, "listen: localhost:0\nlease:\n  defaultSecond: 5\nttlSeconds: -1\n");
    const { code, stderr } = await runCli(["serve", "--config", file]);
    expect(code).toBe(2);
    expect(stderr).toContain(`${file}:3: lease.defaultSecond`);
    expect(stderr).toContain(`${file}:4: ttlSeconds`);
  });

  test("a port or a state folder that is in use is refused, and the gateway that has it goes on", async () => {
    const gateway = await startGateway();
    const port = new URL(gateway.url).port;
    const otherState = join(temporaryFolder("state"), "state");
    const samePort = await runCli(["serve", "--listen", `127.0.0.1:${port}`, "--state-dir", otherState]);
    expect(samePort).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`127.0.0.1:${port} is taken`),
    });
    const sameState = await runCli(["serve", "--listen", "127.0.0.1:0", "--state-dir", gateway.stateDir]);
    expect(sameState).toMatchObject({ code: 2, stderr: expect.stringContaining(gateway.stateDir) });
    expect((await gateway.http("/healthz")).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
  });

  test("SIGTERM: gateway and workers exit with 0, also a worker that reaches neither gateway nor API server", async () => {
    const gateway = await startGateway({ clusters: ["east"] });
    const manifests = temporaryFolder("manifests");
    const running = startSync({ manifests, clusterId: "east", gateways: [gateway] });
    await eventually(async () => (await gateway.http("/readyz")).status).toBe(200);
    const unreachable = { ...gateway, url: "https://127.0.0.1:9" };
    const lost = startSync({ manifests, clusterId: "east", gateways: [unreachable] });
    const kubeconfig = join(temporaryFolder("kubeconfig"), "config");
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor("https://127.0.0.1:9")));
    const blind = startSync({ kubeconfig, clusterId: "east", gateways: [gateway] });
    await eventually(() => [lost.log(), blind.log()]).toEqual(
      Array(2).fill(expect.stringContaining("ECONNREFUSED")),
    );
    for (const worker of [running, lost, blind]) expect(await worker.stop()).toBe(0);
    expect(await gateway.stop()).toBe(0);
    // One JSON object each, for whatever collects logs.
    for (const log of [running.log(), lost.log(), blind.log(), gateway.process.log()])
      for (const line of log.trim().split("\n"))
        expect(JSON.parse(line)).toMatchObject({
          level: expect.any(String),
          time: expect.any(String),
          msg: expect.any(String),
        });
  });

  test("--no-tls serves in clear", async () => {
    const gateway = await startGateway({ tls: false, clusters: ["east"] });
    const manifests = temporaryFolder("manifests");
    mkdirSync(join(manifests, "empty"));
    const worker = startSync({ manifests, clusterId: "east", gateways: [gateway] });
    await eventually(async () => (await gateway.http("/readyz")).status).toBe(200);
    expect(await gateway.lookup("dns-version.clusterset.local", "TXT")).toMatchObject({ values: ["1.0.0"] });
    expect(await worker.stop()).toBe(0);
    expect(await gateway.stop()).toBe(0);
  });
});

function kubeconfigFor(server: string): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lost", cluster: { server } }],
    users: [{ name: "lost", user: { token: "none" } }],
    contexts: [{ name: "lost", context: { cluster: "lost", user: "lost" } }],
    "current-context": "lost",
  };
}
