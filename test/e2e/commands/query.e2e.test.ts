import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { untilLive } from "../harness/answers.ts";
import { checkout, runCli } from "../harness/cli.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const WEB = "web.shop.svc.clusterset.local";

describe("clusterset-doh query and status, at a gateway with two clusters", () => {
  let gateway: GatewayProcess;
  const workers: SyncProcess[] = [];
  const query = (...args: string[]) =>
    runCli(["query", "--server", gateway.url, "--ca-file", gateway.caFile, ...args]);

  beforeAll(async () => {
    gateway = await startGateway({ clusters: ["cluster-a", "cluster-b"] });
    for (const clusterId of ["cluster-a", "cluster-b"])
      workers.push(
        startSync({ clusterId, manifests: join(checkout, "examples", clusterId), gateways: [gateway] }),
      );
    await untilLive(gateway, 2);
  });
  afterAll(async () => {
    for (const worker of workers) await worker.stop();
    await gateway?.stop();
  });

  test("prints records, and explains them with the leases of their clusters", async () => {
    const { code, stdout } = await query("--explain", WEB);
    expect(code).toBe(0);
    expect(stdout).toContain(`; NOERROR, from ${gateway.url}, `);
    expect(stdout).toMatch(/^web\.shop\.svc\.clusterset\.local\.\t\d\tIN\tA\t10\.96\.1\.10$/m);
    expect(stdout).toContain("; record A 10.97.1.10: from cluster-b");
    expect(stdout).toMatch(/^; lease: cluster-a expires in \d+ s unless its worker renews it$/m);
    expect(stdout).toContain("decided by cluster-a: it has the oldest ServiceExport");
    expect(stdout).toContain("2 of 2 clusters live");
  });

  test("has the view of a cluster", async () => {
    const { stdout } = await query("--view", "cluster-b", "--explain", "--json", WEB);
    expect(JSON.parse(stdout)).toMatchObject({
      answer: { Answer: [{ data: "10.97.1.10" }] },
      explanation: { view: { cluster: "cluster-b" }, records: [{ from: ["cluster-b"] }] },
    });
  });

  test("suggests a name, and exits with 3", async () => {
    const { code, stdout } = await query("--explain", "wbe.shop.svc.clusterset.local");
    expect(code).toBe(3);
    expect(stdout).toContain(`; did you mean ${WEB}.`);
  });

  test("answers from the state folder of the running gateway as the gateway does", async () => {
    const { code, stdout } = await runCli(["query", "--state-dir", gateway.stateDir, "--explain", WEB]);
    expect(code).toBe(0);
    expect(stdout).toContain("; record A 10.97.1.10: from cluster-b");
    expect((await query(WEB)).code).toBe(0);
  });

  test("status prints its clusters, services and conflicts", async () => {
    const args = ["status", "--server", gateway.url, "--ca-file", gateway.caFile];
    const { code, stdout } = await runCli(args);
    expect(code).toBe(0);
    expect(stdout).toContain("ready: 2 of 2 clusters live, ");
    expect(stdout).toMatch(/^cluster-b +live +\d+ s ago +in \d+ s +\d+ +\d+$/m);
    expect(stdout).toContain("3 conflicts");
    const report = JSON.parse((await runCli([...args, "--json"])).stdout);
    expect(report).toMatchObject({
      ready: true,
      conflicts: { total: 3 },
      clusters: [{ live: true }, { live: true }],
    });
  });

  test("names --ca-file and the fingerprint where it does not trust the certificate", async () => {
    const { code, stderr } = await runCli(["query", "--server", gateway.url, WEB]);
    expect(code).toBe(1);
    expect(stderr).toContain("--ca-file");
    expect(stderr).toMatch(/([0-9A-F]{2}:){31}[0-9A-F]{2}/);
  });

  test("sends a token, and prints the code of a rejection", async () => {
    const folder = temporaryFolder("query");
    const token = join(folder, "wrong.token");
    writeFileSync(token, "wrong\n");
    const { code, stderr } = await query("--token-file", token, WEB);
    expect(code).toBe(1);
    expect(stderr).toContain("answered 401 UNKNOWN_TOKEN");
  });
});
