import { appendFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { type ExportOptions, exported } from "../commands/exported.ts";
import { answered, eventualAnswer, eventually, untilAnswered } from "../harness/answers.ts";
import { checkout, runCheck, runCli } from "../harness/cli.ts";
import {
  type GatewayProcess,
  type SyncProcess,
  startGateway,
  startSync,
  syncArguments,
} from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const createdAt = "2026-11-01T00:00:00Z";

/** As YAML documents, with the creation timestamp that an API server would have given. */
function manifestText(name: string, options: ExportOptions): string {
  return exported("shop", name, options)
    .map((object) => stringify({ ...object, metadata: { ...object.metadata, creationTimestamp: createdAt } }))
    .join("---\n");
}

describe("sync --manifests and --once", () => {
  let gateway: GatewayProcess;
  let worker: SyncProcess;
  const folder = temporaryFolder("manifests");
  const file = (name: string) => join(folder, name);

  beforeAll(async () => {
    gateway = await startGateway({ clusters: ["east", "west"] });
    writeFileSync(file("web.yaml"), manifestText("web", { endpoints: ["10.1.0.1"] }));
    writeFileSync(file("db.yml"), manifestText("db", { headless: true, endpoints: ["10.1.0.10"] }));
    worker = startSync({ manifests: folder, clusterId: "east", gateways: [gateway] });
    await untilAnswered(gateway, "web.shop", ["10.1.0.1"]);
  });

  afterAll(async () => {
    await worker?.stop();
    await gateway?.stop();
  });

  test("follows edited, added, moved and removed files", async () => {
    writeFileSync(file("web.yaml"), manifestText("web", { endpoints: ["10.1.0.2"] }));
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.2"]);
    mkdirSync(file("more"));
    writeFileSync(file("more/pay.yaml"), manifestText("pay", { endpoints: ["10.1.0.3"] }));
    await eventualAnswer(gateway, "pay.shop").toEqual(["10.1.0.3"]);
    renameSync(file("more/pay.yaml"), file("more/.pay.yaml"));
    await eventualAnswer(gateway, "pay.shop").toBe("NXDOMAIN");
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.10"]);
  });

  test("a broken file loses nothing and is logged with its line; after the fix it counts again", async () => {
    const whole = readFileSync(file("web.yaml"), "utf8");
    appendFileSync(file("web.yaml"), "---\nkind: [unclosed\n");
    await eventually(() => worker.log()).toMatch(/web\.yaml:\d+/);
    // A change elsewhere goes through while it is broken.
    writeFileSync(file("db.yml"), manifestText("db", { headless: true, endpoints: ["10.1.0.11"] }));
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.11"]);
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.2"]);
    writeFileSync(file("web.yaml"), whole.replaceAll("10.1.0.2", "10.1.0.4"));
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.4"]);
  });

  test("a folder that disappears for a while loses nothing", async () => {
    renameSync(folder, `${folder}-away`);
    await eventually(() => worker.log()).toContain("cannot be read");
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.4"]);
    cpSync(`${folder}-away`, folder, { recursive: true });
    rmSync(`${folder}-away`, { recursive: true });
    writeFileSync(file("web.yaml"), manifestText("web", { endpoints: ["10.1.0.5"] }));
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.5"]);
  });

  test("--once pushes and exits with 0; a second time with a changed folder, too", async () => {
    const once = temporaryFolder("once");
    for (const address of ["10.2.0.1", "10.2.0.2"]) {
      writeFileSync(join(once, "web.yaml"), manifestText("web", { endpoints: [address] }));
      const options = { manifests: once, clusterId: "west", gateways: [gateway], args: ["--once"] };
      expect(await runCli(syncArguments(options))).toMatchObject({ code: 0 });
      expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.5", address]);
    }
  });

  test("--once fails with the reason: an unknown token, no gateway, no folder", async () => {
    const options = { manifests: folder, clusterId: "west", gateways: [gateway], args: ["--once"] };
    const wrong = join(temporaryFolder("token"), "wrong.token");
    writeFileSync(wrong, "of-nobody\n");
    const refused = await runCli(syncArguments({ ...options, tokenFile: wrong }));
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/401|token/);
    expect(refused.stderr).not.toContain("of-nobody");
    const other = await runCli(syncArguments({ ...options, tokenFile: gateway.tokenFileFor("east") }));
    expect(other.code).toBe(1);
    expect(other.stderr).toMatch(/403|another cluster/);
    const nowhere = { ...gateway, url: "https://127.0.0.1:9" };
    expect(await runCli(syncArguments({ ...options, gateways: [nowhere] }))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("ECONNREFUSED"),
    });
    expect(await runCli(syncArguments({ ...options, manifests: `${folder}-none` }))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("-none"),
    });
  });
});

describe("check", () => {
  const exampleOf = (clusterId: string) => join(checkout, "examples", clusterId);

  test("prints every record of the examples as a zone file, conflicts and the finding with its line, and exits with 1", async () => {
    const checked = await runCheck(["cluster-a", "cluster-b"].map(exampleOf));
    expect(checked.code).toBe(1);
    expect(checked.stderr).toMatch(/^finding: .*\/cluster-b\/partner\.yaml:\d+:\d+: .*InvalidServiceType/m);
    expect(checked.stderr).toMatch(/^conflict: shop\/api: Conflicting sessionAffinity/m);
    for (const line of checked.stdout.trim().split("\n"))
      expect(line).toMatch(/^\S+\.\t\d+\tIN\t(?:SOA|NS|A|AAAA|SRV|PTR|TXT)\t\S/);
    expect(checked.stdout).toMatch(/^dns-version\.clusterset\.local\.\t28800\tIN\tTXT\t"1\.0\.0"$/m);
  });

  test("exits with 0 without that finding, and with 1 for conflicts with --strict", async () => {
    const copy = temporaryFolder("examples");
    cpSync(exampleOf("cluster-b"), join(copy, "cluster-b"), { recursive: true });
    rmSync(join(copy, "cluster-b", "partner.yaml"));
    const inputs = [exampleOf("cluster-a"), join(copy, "cluster-b")];
    const checked = await runCheck(inputs);
    expect(checked.code).toBe(0);
    expect(await runCheck(["--strict", ...inputs])).toEqual({ ...checked, code: 1 });
    expect(await runCheck(["--strict", exampleOf("cluster-a")])).toMatchObject({ code: 0 });
  });

  test("exits with 1 for a finding, and with 2 for an unreadable input", async () => {
    const folder = temporaryFolder("check");
    writeFileSync(
      join(folder, "web.yaml"),
      manifestText("web", { endpoints: [], spec: { type: "ExternalName", externalName: "a.test" } }),
    );
    const checked = await runCheck(["--cluster-id", "east", folder]);
    expect(checked).toMatchObject({ code: 1, stderr: expect.stringContaining("InvalidServiceType") });
    expect(await runCheck([join(folder, "none.json")])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("none.json"),
    });
  });
});
