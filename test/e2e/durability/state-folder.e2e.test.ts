import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stepsOf } from "../../docs/steps.ts";
import { answered, eventualAnswer, eventually, metric, untilEqual } from "../harness/answers.ts";
import { runProgram } from "../harness/cli.ts";
import { writeDatabase } from "../harness/manifests.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const CLUSTERS = ["east", "west"] as const;
/** A folder as the reader of docs/how-to/back-up.md has it: the config file, a token and the state folder. */
const folder = temporaryFolder("state-folder");
let gateway: GatewayProcess;
let workers: SyncProcess[] = [];
let changes = 0;

/** Another endpoint in each cluster. */
function change(): void {
  changes++;
  for (const [net, cluster] of CLUSTERS.entries()) {
    const address = `10.${net + 1}.${changes >> 8}.${changes & 255}`;
    const endpoints = [{ address, hostname: "db-0" }];
    writeDatabase(join(folder, "manifests", cluster), { port: 5432 + net, endpoints });
  }
}

const startWorkers = (to: GatewayProcess) =>
  CLUSTERS.map((clusterId) =>
    startSync({
      clusterId,
      manifests: join(folder, "manifests", clusterId),
      gateways: [to],
      args: ["--lease", "600"],
    }),
  );

/** What clients get, from outside and in each view. */
async function allAnswers(of: GatewayProcess): Promise<unknown[]> {
  const views = [undefined, ...CLUSTERS];
  const names = ["db.shop", "db-0.east.db.shop", "db-0.west.db.shop", "nothing.shop"];
  const asked = views.flatMap((view) =>
    names.flatMap((name) =>
      (["A", "SRV"] as const).map((type) => answered(of, name, type, view ? { view } : {})),
    ),
  );
  return Promise.all(asked);
}

beforeAll(async () => {
  change();
  gateway = await startGateway({ clusters: [...CLUSTERS], stateDir: join(folder, "state") });
  copyFileSync(gateway.tokenFileFor("east"), join(folder, "cluster-a.token"));
  writeFileSync(join(folder, "gateway.yaml"), "stateDirectory: state\n");
  workers = startWorkers(gateway);
  await untilEqual("both clusters", async () => (await answered(gateway, "db.shop")).length, 2);
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await gateway?.stop();
});

test("backed up while pushes arrive and restored into an empty folder, it answers as before once the workers have pushed", async () => {
  const steps = stepsOf("docs/how-to/back-up.md", "## What is in the state folder");
  const lines = steps.flatMap((step) => (step.kind === "run" ? [step.line] : []));
  const from = (start: string, end: string) =>
    lines
      .slice(
        lines.findIndex((line) => line.startsWith(start)),
        lines.findIndex((line) => line.startsWith(end)) + 1,
      )
      .join("\n");
  const pack = from("rm -f clusterset.db", "tar -czf");
  const unpack = from("tar -xzpf", "mv clusterset.db");
  const accepted = () => metric(gateway, "clusterset_doh_pushes_total", { method: "PATCH", status: "200" });
  for (let round = 0; round < 4; round++) {
    const before = await accepted();
    change();
    const backUp = runProgram("bash", ["-c", pack], { cwd: folder });
    for (let more = 0; more < 5; more++) change();
    // 1: tar saw a file change while it read it.
    expect([0, 1]).toContain((await backUp).code);
    await eventually(accepted).toBeGreaterThan(before);
  }
  const newest = [`10.1.0.${changes}`, `10.2.0.${changes}`];
  await eventualAnswer(gateway, "db.shop").toEqual(newest);
  const before = await allAnswers(gateway);

  const empty = temporaryFolder("restored");
  symlinkSync(join(folder, "back-up.tar.gz"), join(empty, "back-up.tar.gz"));
  const restored = await runProgram("bash", ["-c", unpack], {
    cwd: empty,
  });
  expect(restored).toMatchObject({ code: 0 });
  for (const file of ["state/tls/self-signed.crt", "cluster-a.token"])
    expect(readFileSync(join(empty, file))).toEqual(readFileSync(join(folder, file)));
  const another = await startGateway({
    clusters: [...CLUSTERS],
    tokensOf: gateway,
    stateDir: join(empty, "state"),
  });
  expect(await answered(another, "db.shop")).toHaveLength(2);
  const others = startWorkers(another);
  await eventualAnswer(another, "db.shop").toEqual(newest);
  expect(await allAnswers(another)).toEqual(before);
  expect(another.process.log()).not.toMatch(/"database-(?:damaged|emptied)"|"rows-damaged"/);
  await Promise.all(others.map((worker) => worker.stop()));
  await another.stop();
});

test("ends when it cannot read its database any more, and sets it aside when it is started again: workers push anew", async () => {
  const newest = await answered(gateway, "db.shop");
  await gateway.stop();
  await gateway.process.start();
  const path = join(gateway.stateDir, "clusterset.db");
  const pages = readFileSync(path);
  writeFileSync(path, pages.fill(0, 2 * 4096));
  await answered(gateway, "db.shop").catch(() => {});
  await gateway.process.ended();
  expect(gateway.process.exitCode).toBe(1);
  expect(gateway.process.log()).toMatch(/"uncaught-exception".*the database is damaged/);
  await gateway.process.start();
  expect(gateway.process.log()).toMatch(/"database-damaged"/);
  for (const worker of workers) await worker.restart();
  await eventualAnswer(gateway, "db.shop").toEqual(newest);
});
