import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { exported } from "../commands/exported.ts";
import { answered, eventually, metric, untilAnswered } from "../harness/answers.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const LEASE = 60;
const clock = new MovedClock();
/** Of the workers, which pause for up to a minute. */
const workersClock = new MovedClock({ timers: true });

describe("two workers with one cluster id that read different folders", () => {
  let gateway: GatewayProcess;
  let first: SyncProcess;
  let second: SyncProcess | undefined;

  const start = (folder: string, name: string, address: string) => {
    const objects = exported("shop", name, { endpoints: [address] });
    writeFileSync(join(folder, `${name}.yaml`), objects.map((object) => stringify(object)).join("---\n"));
    return startSync({
      manifests: folder,
      clusterId: "west",
      gateways: [gateway],
      args: ["--lease", String(LEASE)],
      env: workersClock.env,
    });
  };
  const folders = [temporaryFolder("first"), temporaryFolder("second")] as const;

  beforeAll(async () => {
    gateway = await startGateway({ clusters: ["west"], leaseSeconds: LEASE, env: clock.env });
    first = start(folders[0], "web", "10.1.0.1");
    await untilAnswered(gateway, "web.shop", ["10.1.0.1"]);
    second = start(folders[1], "db", "10.2.0.1");
  });
  afterAll(async () => {
    await Promise.all([first?.stop(), second?.stop()]);
    await gateway?.stop();
  });

  test("the first one keeps its names, and both logs, the page, the metric and the finding say so", async () => {
    await eventually(second!.log).toMatch(
      /409 OTHER_INSTANCE: another worker pushes for \\"west\\".*give it another --cluster-id/,
    );
    await eventually(() => gateway.process.log()).toMatch(/"event":"other-instance","clusterId":"west"/);
    expect([await answered(gateway, "web.shop"), await answered(gateway, "db.shop")]).toEqual([
      ["10.1.0.1"],
      "NXDOMAIN",
    ]);
    const textOf = async (path: string) => (await gateway.http(path)).text;
    expect(await textOf("/clusters")).toContain("another worker pushes with this cluster id");
    expect(await textOf("/conflicts")).toContain("OtherInstance");
    const labels = { cluster: "west", reason: "OTHER_INSTANCE" };
    await eventually(() =>
      metric(gateway, "clusterset_doh_cluster_degraded_seconds", labels),
    ).toBeGreaterThan(0);
    expect(
      await metric(gateway, "clusterset_doh_findings", { cluster: "west", reason: "OtherInstance" }),
    ).toBe(1);
  });

  test("a restart of the first one, and of the gateway, changes nothing", async () => {
    await first.restart();
    await gateway.restart();
    const acknowledged = () => first.log().split("acknowledged").length;
    const before = acknowledged();
    await eventually(workersClock.passing(acknowledged)).toBeGreaterThan(before);
    expect(await answered(gateway, "db.shop")).toBe("NXDOMAIN");
  });

  test("the second one is taken when the first one's lease expired", async () => {
    await first.stop();
    clock.pass(LEASE * 1000);
    await eventually(workersClock.passing(() => answered(gateway, "db.shop"))).toEqual(["10.2.0.1"]);
    expect(await answered(gateway, "web.shop")).toBe("NXDOMAIN");
  });
});
